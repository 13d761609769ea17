"""No two queries are both proved equivalent and told apart, at any level of the ladder: one counterexample is a bug."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from looking import look, schema_of

from assay.model import Proof
from assay.sql import read_shape
from assay.witness.assumed import assume
from assay.witness.proof import prove
from assay.witness.query_facts import PairFacts, read_pair

from .proof_pairs import SCHEMA, TRIPLES
from .random_databases import random_tables
from .random_queries import random_pair
from .test_equivalent import DDL, LEFT_OPEN
from .test_proof_pairs import dialects

ODD = {
    "references of another type": {"team_id INTEGER": "team_id TEXT", "away_id INTEGER": "away_id VARCHAR(10)"},
    "numbers of all kinds": {
        "age INTEGER": "age NUMERIC",
        "goals INTEGER": "goals REAL",
        "season INTEGER": "season TEXT",
    },
    "no types": {"id INTEGER PRIMARY KEY": "id TEXT PRIMARY KEY", "age INTEGER": "age", "crowd INTEGER": "crowd BLOB"},
    "dates and switches": {
        "goals INTEGER": "goals DATE",
        "age INTEGER": "age BOOLEAN",
        "crowd INTEGER": "crowd DECIMAL(5,2)",
    },
    "keys that may be NULL": {
        "id INTEGER PRIMARY KEY": "id INT UNIQUE",
        "name TEXT NOT NULL": "name TEXT COLLATE NOCASE",
    },
}
"""The schema's columns, declared otherwise."""
PAIRS = 300
"""How many random pairs are tried: about 3 of 100 are proved."""
STRAY = "INSERT INTO game VALUES (90, 77, NULL, 2, 1); INSERT INTO part VALUES (55, 66, 1)"


def proof_of(one: str, other: str, ddl: str, dialect: str = "sqlite", *, max_rows: int = 0) -> Proof | None:
    assumed = assume(schema_of(ddl, dialect), {}).schema
    ordered = read_shape(one, dialect).ordered
    found = prove(one, other, assumed, dialect=dialect, ordered=ordered, max_rows=max_rows)
    return found if isinstance(found, Proof) else None


def contradictions(
    pairs: Iterable[tuple[str, str]], ddl: str, *, trials: int, dialect: str = "sqlite", max_rows: int = 0
) -> Iterator[tuple[Proof, str]]:
    """Each pair that is proved, with what the search says against it: nothing, as it must be."""
    for one, other in pairs:
        if one == other:
            continue
        proof = proof_of(one, other, ddl, dialect, max_rows=max_rows)
        if proof is None:
            continue
        found = look(one, other, ddl, trials=trials, engine=dialect)
        facts = read_pair(one, other, schema_of(ddl, dialect), dialect)
        assert isinstance(facts, PairFacts)
        # Where nothing in a query can leave a choice open, no choice explains a difference.
        against = found.differs and not (proof.up_to_choice and facts.first.doubts | facts.second.doubts)
        if against and proof.up_to_rows is not None and found.witness is not None:
            against = max(len(table.rows) for table in found.witness.tables) <= proof.up_to_rows
        yield proof, f"{one} | {other} | {proof.rules} | {found.reason}" if against else ""


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_nothing_parts_the_pairs_of_the_corpus(dialect: str) -> None:
    pairs = [pair[:: 1 - 2 * (at % 2)] for at, (_, *pair, _) in enumerate(TRIPLES) if dialect in dialects(*pair)]
    found = list(contradictions(pairs, SCHEMA, trials=100 if dialect == "sqlite" else 4, dialect=dialect))
    assert [against for _, against in found if against] == []
    assert len(found) >= 0.95 * len(pairs)


def test_the_search_parts_most_twins() -> None:
    kinds = [
        look(one, twin, SCHEMA, trials=2500).kind for _, one, _, twin in TRIPLES if "sqlite" in dialects(one, twin)
    ]
    assert kinds.count("refuted") >= 0.97 * len(kinds)


def test_nothing_parts_what_is_left_open_and_proved() -> None:
    pairs = [pair for one, other in LEFT_OPEN.values() for pair in ((one, other), (other, one))]
    assert [against for _, against in contradictions(pairs, DDL, trials=400) if against] == []


def _declared(name: str) -> str:
    ddl = SCHEMA
    for plain, odd in ODD[name].items():
        ddl = ddl.replace(plain, odd)
    return ddl


@pytest.mark.parametrize("name", ODD)
def test_nor_with_columns_of_other_types(name: str) -> None:
    pairs = [random_pair(seed) for seed in range(40_000, 40_000 + PAIRS // 3)]
    found = list(contradictions(pairs, _declared(name), trials=400))
    assert [against for _, against in found if against] == []
    assert len(found) >= 3


def test_no_random_pair_is_bounded_and_refuted_on_as_few_rows() -> None:
    pytest.importorskip("z3", reason="the extra prove is not installed")
    pairs = [random_pair(seed) for seed in range(21_000, 21_060)]
    found = list(contradictions(pairs, SCHEMA, trials=400, max_rows=2))
    assert [against for _, against in found if against] == []
    assert found


def _statements(seed: int, queries: tuple[str, str], *, stray: bool) -> str:
    """A real database: random rows, and rows that refer to nothing."""
    lines = [
        f"INSERT INTO {name} VALUES ({', '.join('NULL' if cell is None else repr(cell) for cell in row)})"
        for name, rows in random_tables(schema_of(SCHEMA), queries, seed).items()
        for row in rows
    ]
    return ";".join([*lines, *([STRAY] if stray else [])])


def both_ways(seeds: Iterable[int], trials: int) -> tuple[int, list[str]]:
    """How many pairs are proved beside a real database, and which of them the search parts there."""
    proved, wrong = 0, []
    for seed in seeds:
        pair = random_pair(seed)
        if pair[0] == pair[1]:
            continue
        rows = _statements(seed, pair, stray=seed % 2 == 0)
        # One trial: nearly no attack, so that the proof itself is heard.
        said = look(*pair, SCHEMA, rows=rows, trials=1, proves=True)
        if said.kind != "proved":
            continue
        proved += 1
        found = look(*pair, SCHEMA, rows=rows, trials=trials)
        if found.differs:
            wrong.append(f"seed {seed}: {pair} | {said.proof.rules} | {found.level} {found.reason}")
    return proved, wrong


def test_no_random_pair_is_proved_and_refuted() -> None:
    found = list(contradictions([random_pair(seed) for seed in range(30_000, 30_000 + PAIRS)], SCHEMA, trials=600))
    assert [against for _, against in found if against] == []
    assert len(found) > PAIRS // 34


def test_nor_beside_real_data_at_any_level() -> None:
    """Also where that violates foreign keys, which then neither assumes."""
    proved, wrong = both_ways(range(33_000, 33_000 + PAIRS // 2), 400)
    assert wrong == []
    assert proved > PAIRS // 80


def test_a_foreign_key_that_the_data_violates_is_not_assumed_by_either() -> None:
    one, other = "SELECT g.id FROM game g JOIN team t ON g.home_id = t.id", "SELECT id FROM game"
    sound = _statements(5, (one, other), stray=False)
    assert look(one, other, SCHEMA, rows=sound, proves=True).kind == "proved"
    strayed = look(one, other, SCHEMA, rows=f"{sound};{STRAY}", proves=True)
    assert strayed.differs
    assert any("foreign key of game (home_id) to team" in note for note in strayed.notes)


def test_values_of_another_type_stop_a_proof() -> None:
    """SQLite stores 20.5 in a column of whole numbers: there > 20 is not >= 21."""
    ddl = "CREATE TABLE t (id INTEGER PRIMARY KEY, age INTEGER)"
    pair = ("SELECT id FROM t WHERE age > 20", "SELECT id FROM t WHERE age >= 21")
    pytest.importorskip("z3", reason="the extra prove is not installed")
    assert look(*pair, ddl, rows="INSERT INTO t VALUES (1, 20)", proves=True).kind == "bounded"
    assert look(*pair, ddl, rows="INSERT INTO t VALUES (1, 20), (2, 20.5)", proves=True).kind == "refuted"
    same = ("SELECT id FROM t WHERE age > 20", "SELECT id FROM t WHERE NOT age <= 20")
    odd = look(*same, ddl, rows="INSERT INTO t VALUES (1, 20), (2, 'x')", proves=True)
    assert (odd.kind, "t.age has the value 'x'" in odd.not_proved) == ("unknown", True)
    assert look(*pair, ddl.replace("age INTEGER", "age FLOATPOINT"), proves=True).kind == "refuted"


def test_what_the_solver_suggests_is_executed() -> None:
    """One database is tried by the search, which finds nothing; the solver's own parts the two."""
    pytest.importorskip("z3", reason="the extra prove is not installed")
    pair = (
        "SELECT COUNT(*) FROM player WHERE age = 7177 AND goals = 8191",
        "SELECT COUNT(*) FROM player WHERE age = 7177 AND goals = 8191 AND mentor_id IS NULL",
    )
    assert look(*pair, SCHEMA, trials=1).why == "no_difference"
    found = look(*pair, SCHEMA, trials=1, proves=True)
    assert found.kind == "refuted"
    assert found.witness is not None
    unknown = look(
        "SELECT id FROM player WHERE age * 2 > 10", "SELECT id FROM player WHERE age > 5", SCHEMA, proves=True
    )
    assert (unknown.kind, unknown.why) == ("unknown", "no_difference")
    assert "the solver (z3) suggests" in unknown.not_proved


def test_small_tables_are_an_outcome_of_their_own() -> None:
    pytest.importorskip("z3", reason="the extra prove is not installed")
    grouped = "SELECT team_id FROM player GROUP BY team_id HAVING"
    pair = f"{grouped} COUNT(DISTINCT goals) > 1", f"{grouped} MIN(goals) < MAX(goals)"
    found = look(*pair, SCHEMA, trials=300, proves=True)
    assert (found.kind, found.equivalent, found.differs) == ("bounded", False, False)
    assert found.proof.up_to_rows == 2
    assert "at most 2 rows per table" in found.reason
    assert found.trials > 200


def test_one_text_is_one_query_if_it_is_one() -> None:
    assert look("SELECT id FROM team", "select ID\nfrom team;", SCHEMA).kind in ("proved", "unknown")
    found = look("SELECT id FROM team", "SELECT  id\nFROM team ;", SCHEMA)
    assert (found.kind, found.trials) == ("proved", 0)
    assert found.proof.rules == ("same text",)
    assert look("SELEC", "SELEC", SCHEMA).why == "unreadable"
    assert look("SELECT random()", "SELECT random()", SCHEMA).why == "nondeterministic"
    assert look("SELECT id FROM nowhere", "SELECT id FROM nowhere", SCHEMA).why == "no_schema"


def test_a_proof_of_queries_that_fail_says_so() -> None:
    """What an engine refuses is found by executing it, not by reading it."""
    pair = ("SELECT frobnicate(id) FROM team WHERE id > 3", "SELECT frobnicate(id) FROM team WHERE 3 < id")
    found = look(*pair, SCHEMA, proves=True)
    assert (found.kind, found.why) == ("unknown", "fails")
    assert "frobnicate" in found.reason


VIEWS = """CREATE TABLE t (id INTEGER PRIMARY KEY, a INT);
CREATE VIEW plain AS SELECT id AS n, a FROM t WHERE a > 3;
CREATE VIEW twice (x) AS SELECT a FROM t UNION ALL SELECT a FROM t;
CREATE VIEW lucky AS SELECT id, random() AS x FROM t;
CREATE VIEW cut AS SELECT a FROM t LIMIT 1"""


def test_views_are_read_as_they_are_defined() -> None:
    """With their keys and conditions; what they leave to chance or to the engine is left open."""
    one, other = "SELECT n FROM plain", "SELECT id FROM t WHERE NOT a <= 3"
    assert look(one, other, VIEWS, proves=True).kind == "proved"
    assert look("SELECT DISTINCT n FROM plain", other, VIEWS, proves=True).kind == "proved"
    assert look("SELECT n FROM plain", "SELECT id FROM t", VIEWS, proves=True).kind == "refuted"
    assert look("SELECT x FROM twice", "SELECT DISTINCT x FROM twice", VIEWS, proves=True).kind == "refuted"
    assert look("SELECT x FROM lucky", "SELECT v.x FROM lucky v WHERE 1 = 1", VIEWS, proves=True).proof is None
    cut = look("SELECT a FROM cut", "SELECT a FROM (SELECT a FROM cut) AS c WHERE 1 = 1", VIEWS, proves=True)
    assert not cut.differs
    assert cut.proof is None or cut.proof.up_to_choice
