"""A superlative without an extreme in the gold query."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="superlative",
    severity="warning",
    needs="question",
    finds="a superlative in the question and no MAX, MIN, ORDER BY or comparison with all in the gold query",
    why="The gold query returns more than the one that the question asks for.",
    remedy="Take the extreme: ORDER BY … LIMIT, or WHERE x = (SELECT MAX(x) …).",
    bad="Q: the oldest singer\nSELECT name FROM singer",
    good="Q: the oldest singer\nSELECT name FROM singer ORDER BY age DESC LIMIT 1",
)
_SUPERLATIVE = re.compile(
    r"\b(?:highest|lowest|largest|smallest|biggest|longest|shortest|oldest|youngest|newest|earliest|latest|cheapest|"
    r"heaviest|lightest|fastest|slowest|tallest|greatest|fewest|maximum|minimum|most|least)\b(?! recent(?:ly)? )",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\bat (?:the )?(?:very )?(?:least|most)\b|\b(?:for the )?most part\b|\bmost of\b|\bnot least\b|"
    r"(?:^|[.?!,;:])\s*most\b|\"[^\"]*\"|“[^”]*”|``.*?''|"
    r"(?<!\w)'[^']*'(?!\w)",
    re.IGNORECASE,
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    found = _SUPERLATIVE.search(_NOT_MEANT.sub(" ", gold.question))
    if found is None or any(query.all_of(exp.Window, exp.Max, exp.Min)):
        return
    if any(select.order or select.limit_node is not None for select in query.selects):
        return
    if re.search(r"\b(?:ALL|EXISTS|EXCEPT)\b", gold.text, re.IGNORECASE):
        return  # not smaller than all others
    word = found[0].lower()
    if re.search(rf"\b{word}\b[^;]*?=\s*(?!max|min)", gold.evidence, re.IGNORECASE):
        return  # the evidence gives the condition that identifies it
    if _is_name(gold, word) or _is_stored(query):
        return
    if word in ("maximum", "minimum") and _OF_EACH.search(gold.question):
        return  # an attribute of each: "the maximum range of each aircraft"
    yield Found(evidence=f"The question says {word!r}, but the query takes no extreme.")


_OF_EACH = re.compile(r"\b(?:each|every|per)\b|\bfor all\b", re.IGNORECASE)
_RANK = re.compile(r"rank|position|place|order|standing|seed|winner|is_?(?:max|min|latest|last|first|top|best)")


def _is_stored(query: Query) -> bool:
    """Whether a condition asks for the first of a stored rank."""
    for one in query.predicates:
        column = query.column_of(one.left)
        if one.operator == "=" and column is not None and query.value_of(one.right[0]) in ("1", "true", "first"):
            stored = query.stored(column)
            if _RANK.search((column.name if stored is None else stored.column).lower()):
                return True
    return False


def _is_name(gold: Gold, word: str) -> bool:
    """Whether a column's name says it, for example ``Highest_Point`` or ``max_temperature_f``."""
    shorter = {"maximum": "max", "minimum": "min", "highest": "high", "lowest": "low", "latest": "last"}
    text = gold.text.lower()
    return word in text or re.search(rf"{shorter.get(word, word)}", text) is not None
