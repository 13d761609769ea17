"""defog's notation, and its question sets on a real PostgreSQL server, where both are at hand."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay import evaluate
from assay.cases import load_cases, recognise
from assay.cases.benchmarks.defog import DefogFormat, expand_golds
from assay.cases.tables.formats import CsvFormat
from assay.errors import CaseFileError
from assay.model import Limits
from many_cases import each

HEADER = "question,query,db_name,query_category,instructions\n"
FORMATS = [CsvFormat(), DefogFormat()]
SETS = {"questions_gen_postgres": 210, "instruct_basic_postgres": 40, "instruct_advanced_postgres": 64}


@each(
    ("text", "golds"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;\n SELECT 2 ;;", ["SELECT 1", "SELECT 2"]),
        (
            "SELECT ';{a}' -- ;{\n; SELECT \"a;b\" /* ; /* ; */ */",
            ["SELECT ';{a}' -- ;{", 'SELECT "a;b" /* ; /* ; */ */'],
        ),
        ("SELECT $$;$$, E'\\';'; SELECT 2; -- no more;", ["SELECT $$;$$, E'\\';'", "SELECT 2"]),
        ("SELECT {a}, 1 FROM t", ["SELECT a, 1 FROM t"]),
        ("SELECT {a, b} FROM t", ["SELECT a, b FROM t", "SELECT a FROM t", "SELECT b FROM t"]),
        (
            "SELECT {a.x,f(b, c) AS y}, count(*) FROM t GROUP BY {} ORDER BY 1",
            [
                "SELECT a.x, f(b, c) AS y, count(*) FROM t GROUP BY a.x, f(b, c) ORDER BY 1",
                "SELECT a.x, count(*) FROM t GROUP BY a.x ORDER BY 1",
                "SELECT f(b, c) AS y, count(*) FROM t GROUP BY f(b, c) ORDER BY 1",
            ],
        ),
        (
            "WITH x AS (SELECT {a} FROM t GROUP BY {}) SELECT {b, c} FROM x GROUP BY {}",
            [
                "WITH x AS (SELECT a FROM t GROUP BY a) SELECT b, c FROM x GROUP BY b, c",
                "WITH x AS (SELECT a FROM t GROUP BY a) SELECT b FROM x GROUP BY b",
                "WITH x AS (SELECT a FROM t GROUP BY a) SELECT c FROM x GROUP BY c",
            ],
        ),
        ("SELECT {a, a} FROM t", ["SELECT a, a FROM t", "SELECT a FROM t"]),
        ("SELECT 1; SELECT 1", ["SELECT 1"]),
    ],
)
def test_the_notation_stands_for_these_golds(text: str, golds: list[str]) -> None:
    assert list(expand_golds(text)) == golds


@each(
    ("text", "wrong"),
    [
        ("SELECT {a FROM t", "opened at character 8 is not closed"),
        ("SELECT a} FROM t", "none is open"),
        ("SELECT {a, {b}} FROM t", "within another"),
        ("SELECT a FROM t GROUP BY {}", "no columns in braces before it"),
        ("SELECT {a,b,c,d,e,f,g,h,i} FROM t", "more than 256 gold queries"),
    ],
)
def test_what_is_no_such_notation_is_named_with_its_row(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(f'{HEADER}Who?,SELECT 1,shop,join,\nHow many?,"{text}",shop,join,\n')
    with pytest.raises(CaseFileError, match=wrong) as raised:
        load_cases(path, formats=FORMATS)
    assert str(raised.value).startswith(f"{path}, line 3: ")


def test_its_files_are_known_by_their_header(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(f'{HEADER}Who?,"SELECT {{a, b}} FROM t; SELECT 1",shop,join,Spell names in full\n')
    assert recognise(path, FORMATS).name == "defog"
    (case,) = load_cases(path, formats=FORMATS)
    assert (case.id, case.database, case.tags, case.context) == ("0", "shop", ("join",), "Spell names in full")
    assert len(case.golds) == 4
    path.write_text("question,query\nWho?,SELECT 1\n")
    assert recognise(path, FORMATS).name == "csv"


@each(
    ("name", "count", "golds", "with_several"),
    [
        ("questions_gen_postgres", 210, 364, 61),
        ("instruct_basic_postgres", 40, 41, 1),
        ("instruct_advanced_postgres", 64, 79, 10),
        ("questions_gen_sqlite", 210, 351, 57),
    ],
)
def test_the_published_sets(shared_data: Path, name: str, count: int, golds: int, with_several: int) -> None:
    cases = load_cases(shared_data / "defog-postgres" / f"{name}.csv", formats=FORMATS)
    assert len(cases) == count
    assert sum(len(case.golds) for case in cases) == golds
    assert sum(len(case.golds) > 1 for case in cases) == with_several
    assert not any(mark in gold for case in cases for gold in case.golds for mark in "{};")


@pytest.fixture(scope="module")
def databases(postgres: Any, shared_data: Path) -> Iterator[dict[str, str]]:
    """The databases of the benchmark, from its dumps, and for each the URL of a role that may only read it."""
    suffix = secrets.token_hex(3)
    dumps = sorted((shared_data / "defog-postgres").glob("*.sql"))
    urls = {dump.stem: postgres.create(f"{dump.stem}_{suffix}", dump.read_text("utf-8")) for dump in dumps}
    yield urls
    for name in urls:
        postgres.drop(f"{name}_{suffix}")


@pytest.mark.parametrize("name", SETS)
def test_every_gold_matches_itself_whatever_their_order(
    databases: dict[str, str], shared_data: Path, name: str
) -> None:
    cases = load_cases(shared_data / "defog-postgres" / f"{name}.csv", formats=FORMATS)
    assert len(cases) == SETS[name]
    asked = [replace(case, id=f"{case.id}/{place}") for case in cases for place in range(len(case.golds))]
    backwards = [replace(case, golds=case.golds[::-1]) for case in asked]
    answers = {case.id: case.golds[int(case.id.partition("/")[2])] for case in asked}
    limits = Limits(timeout_s=10.0)
    forth, back = (
        evaluate(some, answers, databases=databases, metrics=["match"], limits=limits, workers=2).evidence
        for some in (asked, backwards)
    )
    for one, other in zip(forth, back, strict=True):
        place = int(one.case.id.partition("/")[2])
        assert one.verdict.outcome == other.verdict.outcome == "correct", (one.case.id, one.verdict.reason)
        # Others of a case's golds may give the same rows: the first that matches is named, from either end.
        first, last = one.verdict.gold_index, other.verdict.gold_index
        assert first is not None
        assert last is not None
        assert first <= place <= len(one.case.golds) - 1 - last
    found = Counter(one.verdict.gold_index == int(one.case.id.partition("/")[2]) for one in forth)
    assert found[True] > 0.8 * len(asked)
