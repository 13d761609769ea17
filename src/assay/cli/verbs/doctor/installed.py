"""Which packages are installed, as Assay's own metadata asks for them, and what works with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from typing import Final, get_args

from assay import registry
from assay.cli.verbs.doctor.facts import EngineFact, Extra, Package
from assay.errors import AssayError, install_command, requirements

_GIVES: Final = {
    "postgres": "PostgreSQL",
    "clickhouse": "ClickHouse",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
    "spark": "Spark, by Spark Connect",
    "databricks": "Databricks' SQL warehouses (untested: no account was available)",
    "sqlalchemy": "MySQL, MariaDB, and what else SQLAlchemy reaches",
    "denodo": "Denodo's database port; its Data Catalog needs nothing",
    "compiled": "a parser of SQL that takes half the time",
    "prove": "proofs that two queries are one, in assay refute and --witness",
    "sdmx": "structures and data for assay sdmx",
    "llmsql": "downloads of LLMSQL's benchmark",
    "ray": "--backend ray: queries on a cluster",
    "mlflow": "assay runs --mlflow",
    "arrow": "results as Arrow tables, from Python",
    "pandas": "results as pandas frames, from Python",
    "polars": "results as polars frames, from Python",
}
"""What each extra is for, the most used first."""
_ENGINES: Final = (
    (("sqlite",), None),
    (("duckdb",), None),
    (("postgresql", "postgres"), "postgres"),
    (("snowflake",), "snowflake"),
    (("mysql", "mariadb"), "sqlalchemy"),
    (("clickhouse", "clickhouses"), "clickhouse"),
    (("bigquery",), "bigquery"),
    (("spark", "sc"), "spark"),
    (("databricks",), "databricks"),
    (("denodo+http", "denodo+https"), None),
    (("denodo+flightsql", "denodo+psycopg2"), "denodo"),
)
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*(?P<wanted>.*)")


def packages() -> Iterator[tuple[str | None, Package]]:
    """The packages that Assay requires, each with its extra; None for the core."""
    for extra, text in requirements():
        if (parts := _REQUIREMENT.fullmatch(text)) is not None:
            yield extra, _package(parts["name"], parts["wanted"])


def core_packages() -> tuple[Package, ...]:
    """What Assay cannot do without."""
    return tuple(package for extra, package in packages() if extra is None)


def extras() -> tuple[Extra, ...]:
    """Every extra for users, the most used first."""
    found: dict[str, list[Package]] = {name: [] for name in _GIVES}
    for extra, package in packages():
        if extra in found:
            found[extra].append(package)
    return tuple(
        Extra(
            name=name,
            gives=_GIVES[name],
            packages=tuple(its),
            install=None if all(one.fits for one in its) else install_command(extra=name),
        )
        for name, its in found.items()
        if its
    )


def engines(found: Sequence[Extra]) -> tuple[EngineFact, ...]:
    """Every engine of Assay's own: whether it works, and in which version."""
    lacking = {extra.name: extra.install for extra in found}
    return tuple(_engine(schemes, lacking.get(extra or "")) for schemes, extra in _ENGINES)


def _engine(schemes: tuple[str, ...], install: str | None) -> EngineFact:
    if install is not None:
        return EngineFact(schemes=schemes, version=None, install=install)
    try:
        told = registry.load("assay.engines", schemes[0]).version()
    except AssayError as error:
        return EngineFact(schemes=schemes, version=None, trouble=str(error))
    return EngineFact(schemes=schemes, version=str(told))


def plugins() -> tuple[str, ...]:
    """What other packages register with Assay, one line each; loaded to see whether it does."""
    lines = []
    for group in get_args(registry.Group):
        for name, entry in registry.registered(group).items():
            if entry.module.partition(".")[0] == "assay":
                continue
            kind = group.removeprefix("assay.").removesuffix("s")
            origin = entry.dist.name if entry.dist is not None else entry.module
            try:
                registry.load(group, name)
                lines.append(f"{kind} {name}, of {origin}")
            except AssayError as error:
                lines.append(str(error))
    return tuple(lines)


def _package(name: str, wanted: str) -> Package:
    try:
        there = version(name)
    except PackageNotFoundError:
        return Package(name=name, wanted=wanted, version=None, fits=False)
    return Package(name=name, wanted=wanted, version=there, fits=fits(there, wanted))


def fits(there: str, wanted: str) -> bool:
    """Whether a version is one of those: ``>=1.4,<2``. What else may stand there is taken for fitting."""
    own = _numbers(there)
    for part in wanted.split(","):
        sign, _, bound = re.sub(r"^\s*(>=|<=|==|!=|>|<|~=)", r"\1 ", part).strip().partition(" ")
        other = _numbers(bound)
        pairs = zip_longest(own, other, fillvalue=0)
        order = next(((a > b) - (a < b) for a, b in pairs if a != b), 0)
        if (sign == ">=" and order < 0) or (sign == "<" and order >= 0) or (sign == ">" and order <= 0):
            return False
        if (sign == "<=" and order > 0) or (sign == "==" and "*" not in bound and order != 0):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", text)
    return tuple(map(int, found[1].split("."))) if found else ()
