"""Whatever a query is made of, every rule looks at it without an error, and says the same when it looks again."""

from __future__ import annotations

from golds import one_case
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.linting import GoldDatabase
from assay.linting.apply import lint_gold
from assay.model.lint import LintOptions


def _one_of(texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from([text.strip() for text in texts.split(" | ")])


TERMS = _one_of(
    "name | s.age | country | COUNT(*) | SUM(s.salary) | AVG(s.age) | COUNT(s.id) | MAX(weight) | age / 2 | 'x' | "
    "NULL | SUM(age) / COUNT(*) | * | c.sold | s.* | nowhere | (SELECT MAX(year) FROM concert) | "
    "ROW_NUMBER() OVER (ORDER BY s.age) | debut | DISTINCT s.id"
)
CONDITIONS = _one_of(
    "s.age > 40 | s.age = NULL | country = 'japan' | country = \"Japan\" | NOT (s.age = 30 OR s.age = 40) | "
    "-1 < s.age | s.id NOT IN (SELECT singer_id FROM concert) | "
    "EXISTS (SELECT 1 FROM guest g WHERE g.singer_id = s.id) | weight BETWEEN 1 AND '20' | "
    "s.age IN (1, NULL, 40) | CASE WHEN s.age > 3 THEN 1 END = 1 | debut < '01/01/2000' | c.id = s.id | nowhere = 1"
)
SOURCES = _one_of(
    "singer s | singer AS s, concert AS c | singer s JOIN concert c ON c.singer_id = s.id | venue s | "
    "singer s LEFT JOIN concert c ON c.singer_id = s.id AND c.year > 2000 | (SELECT * FROM singer) s | "
    "(SELECT id, name, age, salary, weight, debut, country FROM singer WHERE age > 1) s JOIN concert c USING (id) | "
    "(singer s JOIN concert c ON c.id = s.id)"
)
KEYS = st.lists(st.sampled_from(["1", "name", "s.age", "country", "COUNT(*)", "weight DESC", "s.salary"]), max_size=2)
QUESTIONS = st.text(max_size=30) | _one_of(
    "How many different singers over 40? | both 'a' and \"b\" in 2014 | at least two, for each | the oldest, 20% more"
)


@st.composite
def selects(draw: st.DrawFn) -> str:
    query = f"SELECT {', '.join(draw(st.lists(TERMS, min_size=1, max_size=3)))} FROM {draw(SOURCES)}"
    if conditions := draw(st.lists(CONDITIONS, max_size=3)):
        query += " WHERE " + draw(st.sampled_from([" AND ", " OR "])).join(conditions)
    if keys := draw(KEYS):
        query += (
            " GROUP BY " + ", ".join(key.removesuffix(" DESC") for key in keys if "COUNT" not in key)
            if draw(st.booleans()) and "COUNT(*)" not in keys
            else " ORDER BY " + ", ".join(keys)
        )
    return query + draw(st.sampled_from(["", "", " LIMIT 1", " LIMIT 2 OFFSET 1", " LIMIT 0", " LIMIT -1"]))


@st.composite
def queries(draw: st.DrawFn) -> str:
    first = draw(selects())
    how = draw(
        st.sampled_from(["{0}", "{0}", "{0}", "{0} UNION {1}", "{0} EXCEPT {1}", "WITH s AS ({1}) {0}", "({0})"])
    )
    return how.format(first, draw(selects()))


@settings(max_examples=150)
@given(query=queries(), question=QUESTIONS, evidence=st.none() | st.sampled_from(["a refers to `age` = 7", "x = 'y'"]))
def test_every_rule_looks_at_every_query(songs: GoldDatabase, query: str, question: str, evidence: str | None) -> None:
    case = one_case(query, question=question, evidence=evidence)

    def look(on: GoldDatabase | None) -> object:
        names = None if on is None else on.names
        return lint_gold(case, LintOptions(), dialect="sqlite", names=names, database=on)

    assert look(songs) == look(songs)
    assert look(None) == look(None)
