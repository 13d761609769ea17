"""A LIMIT that cuts through tied rows."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql import tie_probes
from assay.sql.query import Query

RULE = LintRule(
    name="limit-over-tie",
    severity="warning",
    needs="database",
    finds="an ORDER BY … LIMIT whose last row ties with rows that are cut off",
    why="The question has several right answers, and the gold result is one of them by chance. Assay's own verdict "
    "accepts every choice among tied rows; other scripts do not.",
    remedy="Compare with the extreme value (WHERE x = (SELECT MAX(x) …)), or order by additional columns and say in "
    "the question how ties are broken.",
    bad="SELECT name FROM singer ORDER BY age DESC LIMIT 1",
    good="SELECT name FROM singer WHERE age = (SELECT MAX(age) FROM singer)",
)
_SHOWN = 3


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    top = query.top
    rows = gold.rows
    if top is None or rows is None or gold.database is None or top.limit_node is None or not top.order or not rows:
        return
    for probe in tie_probes(gold.text, gold.dialect):
        if not probe.ordered or probe.mirror is not None:
            return
        seen = gold.database.rows(probe.query)
        if seen is None:
            continue
        last = probe.offset + len(rows) - 1
        shown = [row[:-1] for row in seen] if probe.ranked else list(seen)
        if tuple(shown[probe.offset : last + 1]) != tuple(rows):
            continue
        keys = [row[-1] for row in seen] if probe.ranked else [tuple(row[c] for c in probe.key_columns) for row in seen]
        tied = [shown[place] for place, key in enumerate(keys) if key == keys[last]]
        kept = sum(1 for place in range(probe.offset, last + 1) if keys[place] == keys[last])
        if len(tied) > kept and len({repr(row) for row in tied}) > 1:
            yield Found(evidence=_sentence(tied, kept), place=query.span(top.limit_node))
        return


def _sentence(tied: list[tuple[object, ...]], kept: int) -> str:
    names = ", ".join(" | ".join(map(str, row))[:60] for row in tied[:_SHOWN])
    more = f" and {len(tied) - _SHOWN} more" if len(tied) > _SHOWN else ""
    places = "place" if kept == 1 else f"{kept} places"
    return f"{len(tied)} rows tie for the last {places}, and LIMIT returns {kept}: {names}{more}."
