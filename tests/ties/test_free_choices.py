"""What each engine is free to choose: another choice is correct, with a flag, and what is determined counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from free_choices import COLLATED, MERGING, ON, ROWS, SPELLINGS, Choice, statements

from assay import registry
from assay.engines.pool.executor import Executor
from assay.model import Case, ComparisonOptions, DatabaseUrl, Limits, Prediction, Verdict
from assay.scoring.queries.scorer import QueryScorer

Score = Callable[[str, str], Verdict]


@pytest.fixture
def scorer() -> Iterator[QueryScorer]:
    executor = Executor(engines=registry.engine_references(), limits=Limits())
    yield QueryScorer(executor, [], ComparisonOptions(near_misses=False))
    executor.close()


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The URL of an engine's database with the tables, made when it is first asked for."""
    made: dict[str, str] = {}
    makers: dict[str, Callable[[Path, pytest.FixtureRequest], str]] = {
        "sqlite": _sqlite,
        "duckdb": _duckdb,
        "postgres": _postgres,
        "mysql": _mariadb,
        "clickhouse": _clickhouse,
    }

    def url(engine: str) -> str:
        if engine not in made:
            made[engine] = makers[engine](tmp_path_factory.mktemp(engine), request)
        return made[engine]

    return url


def _all_statements(engine: str) -> list[str]:
    return [*(line for table in ROWS for line in statements(table)), *COLLATED[engine], SPELLINGS]


def _sqlite(folder: Path, _: pytest.FixtureRequest) -> str:
    path = folder / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for statement in _all_statements("sqlite"):
            connection.execute(statement)
        connection.commit()
    return f"sqlite:///{path.as_posix()}"


def _duckdb(folder: Path, _: pytest.FixtureRequest) -> str:
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in _all_statements("duckdb"):
            connection.execute(statement)
    return f"duckdb:///{path.as_posix()}"


def _postgres(_: Path, request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue("postgres")
    url: str = server.create("free_choices", ";".join(_all_statements("postgres")))
    request.addfinalizer(lambda: server.drop("free_choices"))
    return url


def _mariadb(_: Path, request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue("mariadb")
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE free_choices")
        cursor.execute("USE free_choices")
        for statement in _all_statements("mysql"):
            cursor.execute(statement)
        cursor.execute("CREATE USER free IDENTIFIED BY 'free'")
        cursor.execute("GRANT SELECT ON free_choices.* TO free")
        connection.commit()
    return f"mysql+pymysql://free:free@{server.host}:{server.port}/free_choices"


def _clickhouse(_: Path, request: pytest.FixtureRequest) -> str:
    import clickhouse_connect

    server = request.getfixturevalue("clickhouse")
    client: Any = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.port, autogenerate_session_id=False, compress=False
    )
    client.command("CREATE DATABASE free_choices")
    client.database = "free_choices"
    for table in ROWS:
        for statement in statements(table, integer="Int32", text="String", ends=" ENGINE = MergeTree ORDER BY id"):
            client.command(statement)
    return f"clickhouse://127.0.0.1:{server.port}/free_choices"


def _cases() -> Iterator[Any]:
    for engine, choices in ON.items():
        marks = [pytest.mark.server] if engine not in ("sqlite", "duckdb") else []
        for choice in choices:
            yield pytest.param(engine, choice, marks=marks, id=f"{engine}: {choice.gold}")


@pytest.mark.parametrize(("engine", "choice"), list(_cases()))
def test_another_choice_is_correct_and_what_is_determined_counts(
    scorer: QueryScorer, urls: Callable[[str], str], engine: str, choice: Choice
) -> None:
    url = DatabaseUrl(text=urls(engine))

    def verdict(prediction: str, table: str) -> Verdict:
        gold, query = (text.replace(" T", f" {table}") for text in (choice.gold, prediction))
        case = Case(id="1", question="", golds=(gold,))
        return scorer.score(case, Prediction(case_id="1", query=query), url).evidence.verdict

    for prediction in (choice.gold, choice.other):
        tied = verdict(prediction, "tied")
        assert (tied.outcome, "ambiguous_gold" in tied.flags) == ("correct", True), (prediction, tied)
    wrong = verdict(choice.wrong, "tied")
    assert (wrong.outcome, wrong.failure) == ("incorrect", None), wrong
    if not choice.is_list:
        free = verdict(choice.other, "free")
        assert (free.outcome, "ambiguous_gold" in free.flags) == ("correct", False), free


@pytest.mark.parametrize(("gold", "other", "wrong"), MERGING)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=[] if name in ("sqlite", "duckdb") else [pytest.mark.server]) for name in COLLATED],
)
def test_any_spelling_of_equal_texts_is_correct(
    scorer: QueryScorer, urls: Callable[[str], str], engine: str, gold: str, other: str, wrong: str
) -> None:
    url = DatabaseUrl(text=urls(engine))

    def verdict(prediction: str) -> tuple[str, bool]:
        case = Case(id="1", question="", golds=(gold,))
        found = scorer.score(case, Prediction(case_id="1", query=prediction), url).evidence.verdict
        return found.outcome, "ambiguous_gold" in found.flags

    assert verdict(gold) == ("correct", True)
    assert verdict(other) == ("correct", True)
    assert verdict(wrong) == ("incorrect", True)
    assert verdict("SELECT 1") == ("incorrect", True)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_texts_without_other_spellings_are_not_flagged(
    scorer: QueryScorer, urls: Callable[[str], str], engine: str
) -> None:
    url, gold = DatabaseUrl(text=urls(engine)), "SELECT DISTINCT n FROM c WHERE id > 2"
    case = Case(id="1", question="", golds=(gold,))
    found = scorer.score(case, Prediction(case_id="1", query=gold), url).evidence.verdict
    assert (found.outcome, found.flags) == ("correct", frozenset())
