"""Names, types and text of the bound query (`assay.sql.query`), held to what the engines say themselves.

The oracles and the generated queries are those of tests/sql. What was compared is told on the standard error, as the
tables of docs/background/measured/names.md.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from assay.engines.sqlite.engine import SqliteEngine
from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, Limits, TableSchema
from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames, TypeFamily, type_family
from benchmarks.frame import ROOT, NotHere, Setup
from benchmarks.measurements.spider import folder_of

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "sql"), str(ROOT / "tests" / "engines")]

_SEEDS = {"sqlite": 4000, "duckdb": 4000, "postgres": 2000, "mysql": 600, "denodo": 3000}
_MOST_STEPS = 20_000_000
"""Of SQLite's machine, for a query whose rows are looked at."""


def names(setup: Setup) -> Mapping[str, float]:
    """Queries whose names we read otherwise than the engine, by where the queries are from."""
    from mariadb_server import MariadbServer, Unavailable
    from name_oracles import duckdb_oracle, mariadb_oracle, postgres_oracle, sqlite_oracle
    from odd_names import TABLES

    import servers

    spider = folder_of(setup)
    found = {"names.spider": _spider(spider), "names.bird": _bird(spider.parent / "bird-mini-dev")}
    with ExitStack() as stack:
        for dialect, local in (("sqlite", sqlite_oracle(TABLES)), ("duckdb", duckdb_oracle(TABLES))):
            found[f"names.{dialect}"] = _generated(dialect, local)
            local.connection.close()
        try:
            postgres = stack.enter_context(servers.postgres_server())
            mariadb = MariadbServer()
        except (servers.NoServer, Unavailable) as reason:
            raise NotHere(str(reason)) from reason
        stack.callback(mariadb.close)
        found["names.postgres"] = _generated("postgres", stack.enter_context(postgres_oracle(postgres, TABLES)))
        found["names.mariadb"] = _generated("mysql", stack.enter_context(mariadb_oracle(mariadb, TABLES)))
    return found | {"names.vql": _vql()}


def meanings(setup: Setup) -> Mapping[str, float]:
    """Outputs of the wrong type, and queries that give other rows when they are written from the tree."""
    spider = folder_of(setup)
    types, texts = _types_and_texts(spider)
    return {"meanings.types": types, "meanings.duckdb": _duckdb_types(), "meanings.text": texts}


def _tell(title: str, counts: Mapping[str, int]) -> None:
    print(f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}", file=sys.stderr)


def _told(title: str, parts: Sequence[Any]) -> float:
    """Tell what was compared, and give how many queries differ without a reason."""
    reasons: Counter[str] = Counter()
    for part in parts:
        reasons.update(part.explained)
    counts = {
        "accepted": sum(part.compared for part in parts),
        "equal": sum(part.equal for part in parts),
        **reasons,
        "unreadable": sum(part.unreadable for part in parts),
        "refused by the engine": sum(part.refused for part in parts),
    }
    wrong = [text for part in parts for text in part.wrong]
    _tell(title, {**counts, "wrong": len(wrong)})
    for text in wrong[:5]:
        print(f"    {text}", file=sys.stderr)
    return len(wrong)


def _spider_queries(folder: Path) -> dict[str, list[str]]:
    """Spider's distinct queries by database: gold and all predictions."""
    cases = {one["id"]: one for one in map(json.loads, (folder / "dev.jsonl").read_text().splitlines())}
    found = {(case["db_id"], case["gold_sql"]): None for case in cases.values()}
    for path in sorted((folder / "predictions").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            told = json.loads(line)
            if told["predicted_sql"]:
                found[cases[told["id"]]["db_id"], told["predicted_sql"]] = None
    by_database: dict[str, list[str]] = {}
    for name, text in found:
        by_database.setdefault(name, []).append(text)
    return by_database


def _databases(folder: Path) -> Iterator[tuple[sqlite3.Connection, SchemaNames, list[str]]]:
    """Each database of Spider with its names and queries."""
    for name, texts in _spider_queries(folder).items():
        path = folder / "database" / name / f"{name}.sqlite"
        engine = SqliteEngine.open(DatabaseUrl.parse(f"sqlite:///{path}"), Limits())
        schema = engine.schema(with_values=False)
        engine.close()
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection, SchemaNames(schema), texts


def _spider(folder: Path) -> float:
    from name_oracles import SqliteOracle, compare

    parts = [
        compare(SqliteOracle(connection), "sqlite", ((text, known) for text in texts))
        for connection, known, texts in _databases(folder)
    ]
    return _told("Spider", parts)


def _bird(folder: Path) -> float:
    """BIRD's gold queries on empty tables. Without the folder beside Spider's, nothing is compared."""
    from name_oracles import SqliteOracle, compare

    if not folder.is_dir():
        raise NotHere(f"no folder {folder} with BIRD's mini_dev_sqlite_tables.json")
    lines = (folder / "mini_dev_sqlite_gold.sql").read_text().splitlines()
    queries = [line.rsplit("\t", 1) for line in lines if line.strip()]
    parts = []
    for told in json.loads((folder / "mini_dev_sqlite_tables.json").read_text()):
        columns: dict[int, list[ColumnSchema]] = {}
        for (table, name), kind in zip(told["column_names_original"], told["column_types"], strict=True):
            columns.setdefault(table, []).append(ColumnSchema(name=name, type=kind))
        tables = tuple(
            TableSchema(name=name, ddl="", columns=tuple(columns[number]), primary_key=())
            for number, name in enumerate(told["table_names_original"])
        )
        with closing(sqlite3.connect(":memory:")) as connection:
            for table in tables:
                listed = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
                connection.execute(f'CREATE TABLE "{table.name}" ({listed})')
            known = SchemaNames(DatabaseSchema(dialect="sqlite", tables=tables))
            texts = [text for text, name in queries if name == told["db_id"]]
            parts.append(compare(SqliteOracle(connection), "sqlite", ((text, known) for text in texts)))
    return _told("BIRD", parts)


def _generated(dialect: str, oracle: Any) -> float:
    from generated_names import generated
    from name_oracles import compare, names_in
    from odd_names import ODD, ODD_OF, TABLES

    known = names_in(TABLES, dialect)
    texts = [*ODD, *ODD_OF.get(dialect, ()), *(generated(seed, dialect) for seed in range(_SEEDS[dialect]))]
    asked = (text for text in texts if dialect != "mysql" or '"' not in text)
    return _told(f"Generated, {dialect}", [compare(oracle, dialect, ((text, known) for text in asked))])


def _vql() -> float:
    """Names whose table `qualify`, which finds it in another way, does not confirm. There is no engine to ask."""
    from generated_names import generated
    from name_oracles import names_in
    from odd_names import ODD, TABLES

    known = names_in(TABLES, "denodo")
    counts: Counter[str] = Counter()
    for text in [*ODD, *(generated(seed, "denodo") for seed in range(_SEEDS["denodo"]))]:
        query = read_query(text, "denodo", known)
        if not isinstance(query, Query) or query.unresolved or query.bound is query.tree:
            counts["left out: names that are unknown, or that qualify refuses"] += 1
            continue
        for column in query.columns:
            source, twin = query.meaning(column).source, query.twin(column)
            table = str(getattr(twin, "table", "")).lower()
            if column.table or source is None or twin is column or not table:
                continue
            is_same = table == source.alias or source.alias.startswith("?")  # a subquery without a name
            counts["equal" if is_same else "differ"] += 1
    _tell("VQL, names without a table", counts)
    return counts["differ"]


_FITS: Mapping[TypeFamily, tuple[type, ...]] = {
    "integer": (int,),
    "real": (float, int),
    "numeric": (int, float),
    "text": (str,),
    "date": (str,),
    "other": (int, float, str, bytes),
}


def _types_and_texts(folder: Path) -> tuple[float, float]:
    counts: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for connection, known, queries in _databases(folder):
        for text in queries:
            query = read_query(text, "sqlite", known)
            rows = _rows(connection, text)
            if rows is None or not isinstance(query, Query):
                continue
            again = _rows(connection, query.tree.sql("sqlite"))
            texts["same rows in the same order" if again == rows else "other rows"] += 1
            outputs = query.tree.selects
            if any(output.is_star for output in outputs):
                continue
            for place, output in enumerate(outputs):
                values = {type(row[place]) for row in rows} - {type(None)}
                family = query.type_of(output.unalias())
                if not values:
                    counts["no value"] += 1
                elif family is None:
                    counts["not known"] += 1
                else:
                    counts["right" if values <= set(_FITS[family]) else f"{family}, values of other types"] += 1
    _tell("Types of outputs on Spider", counts)
    _tell("Written from the tree", texts)
    wrong = sum(count for name, count in counts.items() if name.endswith("values of other types"))
    return wrong / sum(counts.values()) * 100, texts["other rows"]


def _rows(connection: sqlite3.Connection, text: str) -> list[tuple[Any, ...]] | None:
    """The rows of a query; None where it fails, or takes too long."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 100_000
        return int(steps > _MOST_STEPS)

    connection.set_progress_handler(count, 100_000)
    try:
        return connection.execute(text).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return None
    finally:
        connection.set_progress_handler(None, 0)


def _duckdb_types() -> float:
    """Outputs of generated queries that DuckDB describes with a type of another kind."""
    import duckdb
    from generated_names import generated
    from name_oracles import duckdb_oracle, names_in
    from odd_names import TABLES

    known = names_in(TABLES, "duckdb")
    counts: Counter[str] = Counter()
    with closing(duckdb_oracle(TABLES).connection) as connection:
        for seed in range(_SEEDS["duckdb"]):
            text = generated(seed, "duckdb")
            query = read_query(text, "duckdb", known)
            try:
                described = connection.execute(f"DESCRIBE {text}").fetchall()
            except duckdb.Error:
                continue
            if not isinstance(query, Query) or query.top is None or any(one.is_star for one in query.tree.selects):
                continue  # a set operation's types are of all its SELECTs
            for output, row in zip(query.tree.selects, described, strict=True):
                family, theirs = query.type_of(output.unalias()), type_family(row[1])
                kind = "not known" if family is None else "right" if family == theirs else f"{family} for {theirs}"
                counts[kind] += 1
    _tell("Types of outputs, DuckDB's DESCRIBE", counts)
    right = counts["right"] + counts["not known"]
    return (sum(counts.values()) - right) / sum(counts.values()) * 100
