"""Spider's execution accuracy, as the test suite's script computes it, quirks included.

Source: eval_exec_match of taoyds/test-suite-sql-eval with its default of dropping DISTINCT.
The quirks: `value` in a prediction becomes `1`; DISTINCT is dropped everywhere by sqlparse's
tokens, which also cut the text after its first statement; row order counts wherever the gold query's text
contains "order by"; a first filter sorts each row by its cells' text, so that 1, 1.5 is not 1.0, 1.5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import is_
from typing import Any, ClassVar

from assay.comparison.budget import BudgetSpent
from assay.comparison.permutation import find_mapping
from assay.comparison.sides import NoPlaces, Side
from assay.metrics.base import (
    QueryMetric,
    befallen,
    gold_failure,
    runs_as_empty,
    same_bag_and_texts,
    unscored,
    without_query,
)
from assay.model import Case, Comparison, Execution, Failure, Prediction, Row, Score
from assay.model.results.cells import MapEntries
from assay.ports import Executions, QueryRequest

_CURRENT_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


_SIMPLE = re.compile(r"""(?>[A-Za-z_]\w*+|\d++(?!\w)|[\s,.()=<>!*+|]|-(?!-)|/(?!\*)|'[^'\\]*'|"[^"\\]*")*+""", re.ASCII)
"""A text of words, numbers, plain signs and quoted text, without comments and semicolons. Any word outside quotes is
then a token of its own, so that DISTINCT can be found without the tokenizer, which takes a hundred times as long."""
_DISTINCT = re.compile(r"""('[^']*'|"[^"]*")|\bdistinct\b""", re.ASCII | re.IGNORECASE)


class SpiderEx(QueryMetric):
    """1 where, under some permutation of columns, the results are equal on every database file of the folder.

    The script rewrites both queries, so they are executed for this metric alone.
    """

    name: ClassVar[str] = "spider_ex"
    meaning: ClassVar[str] = "Spider test suite: execution match on every database, its quirks kept"
    default_place: ClassVar[int] = 5

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """Gold queries and prediction rewritten the script's way, on every database file."""
        queries = [rewritten for gold in case.golds if (rewritten := _rewrite(gold)) is not None]
        predicted = _rewrite_prediction(prediction)
        if predicted is None:
            return ()
        return [QueryRequest(query=query, scope="siblings") for query in (*queries, predicted)]

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """1 if some gold agrees on every database; None if every gold query fails on some database."""
        if (failure := without_query(case, prediction, executions)) is not None:
            return unscored(self.name, failure)
        if not any(gold.succeeded for gold in executions.golds):
            return unscored(self.name, gold_failure(executions.golds))
        predicted_query = _rewrite_prediction(prediction)
        if executions.predicted is None or predicted_query is None:
            failure = befallen(prediction, executions.predicted)
            return unscored(self.name, failure) if failure else Score(metric=self.name, value=0.0)
        predicted = executions.requested[QueryRequest(query=predicted_query, scope="siblings")]
        if lost := next((failure for one in predicted if (failure := befallen(prediction, one))), None):
            return unscored(self.name, lost)
        failure = None
        scores: list[bool] = []
        for gold in case.golds:
            query = _rewrite(gold)
            golds = executions.requested[QueryRequest(query=query, scope="siblings")] if query is not None else ()
            broken = next((execution for execution in golds if not execution.succeeded), None)
            if query is None or broken is not None:
                failure = failure or (gold_failure([broken]) if broken else None)
                continue
            ordered = "order by" in query.lower()
            try:
                scores.append(all(_agree(one, two, ordered) for one, two in zip(golds, predicted, strict=True)))
            except BudgetSpent:
                if all(_is_found_mirrored(one, ordered) for one in golds):
                    scores.append(False)  # undecided only by the prediction: the gold query's own rows are found
                    continue
                message = "the columns are too symmetric to find a permutation within the budget"
                failure = Failure(stage="compare", kind="unscorable", blame="assay", message=message)
        if not scores:
            return unscored(self.name, failure or gold_failure(executions.golds))
        return Score(metric=self.name, value=float(any(scores)))


def _rewrite_prediction(prediction: Prediction) -> str | None:
    return None if prediction.query is None else _rewrite(prediction.query.replace("value", "1"))


@lru_cache(maxsize=2048)
def _rewrite(query: str) -> str | None:
    """The text that the script executes; None if its tokenizer gives up, which scores 0."""
    query = query.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")
    lowered = query.lower()
    if "distinct" in lowered or ";" in query or not query.strip():
        without = _without_distinct(query)
        if without is None:
            return None
        query = without
    return _CURRENT_YEAR.sub("2020", query) if "curdate" in lowered else query


def _without_distinct(query: str) -> str | None:
    """The first statement without its DISTINCT tokens; None if there is no statement.

    The tokenizer is the script's own: its idea of a token and of a statement is part of the
    metric. The script also groups the tokens into a tree and flattens it again; this is left out,
    since it changes no token and takes most of the time.
    """
    whole = query.removesuffix(";")  # which belongs to the statement that it ends
    if _SIMPLE.fullmatch(whole) and whole.strip():
        return _DISTINCT.sub(r"\1", query)
    values = _first_statement(query)
    return "".join(value for value in values if value.lower() != "distinct") if values else None


def _first_statement(query: str) -> list[str]:
    """The tokens of the first statement; none if there is no statement."""
    from sqlparse.engine import FilterStack
    from sqlparse.lexer import tokenize

    if ";" not in query and query.strip():
        return [value for _, value in tokenize(query)]  # type: ignore[no-untyped-call]
    statement = next(FilterStack().run(query), None)  # type: ignore[no-untyped-call]
    return [] if statement is None else [token.value for token in statement]


def _agree(gold: Execution, predicted: Execution, ordered: bool) -> bool:  # noqa: FBT001 - private
    if not predicted.succeeded and not runs_as_empty(predicted):
        return False
    ours = gold.result.rows if gold.result else ()
    theirs = predicted.result.rows if predicted.result else ()
    if gold.undecodable_text or predicted.undecodable_text:
        ours, theirs = _decoded(ours), _decoded(theirs)
    return results_equal(ours, theirs, ordered=ordered)


def _is_found_mirrored(gold: Execution, ordered: bool) -> bool:  # noqa: FBT001 - private
    """Whether the search finds the gold query's own rows with reversed columns within the budget."""
    rows = gold.result.rows if gold.result else ()
    try:
        return results_equal(rows, [row[::-1] for row in rows], ordered=ordered)
    except BudgetSpent:
        return False


def _decoded(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows without bad bytes, which the script's text factory drops."""
    return tuple(
        tuple(
            cell.encode("utf-8", "surrogateescape").decode("utf-8", "ignore") if isinstance(cell, str) else cell
            for cell in row
        )
        for row in rows
    )


def results_equal(gold: Sequence[Row], predicted: Sequence[Row], *, ordered: bool) -> bool:
    """The script's `result_eq`, with its column permutations searched for instead of enumerated."""
    if not gold and not predicted:
        return True
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    if gold is predicted or (gold == predicted and _typed_alike(gold, predicted)):
        return True
    if not ordered and same_bag_and_texts(gold, predicted):
        return True
    gold, predicted = _hashable(gold), _hashable(predicted)
    ours, theirs = list(map(_unordered, gold)), list(map(_unordered, predicted))
    if ours != theirs if ordered else set(ours) != set(theirs):
        return False
    width = len(gold[0])
    if width == 1:
        return list(gold) == list(predicted) if ordered else Counter(gold) == Counter(predicted)
    places: Sequence[int] = range(len(gold)) if ordered else NoPlaces(len(gold))
    sides = [Side(columns=list(zip(*rows, strict=True)), places=places) for rows in (gold, predicted)]
    return find_mapping(sides[0], sides[1]) is not None


def _typed_alike(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """Whether cells that are equal, one by one, are of the same types, too."""
    # The first filter tells 1 from 1.0, but only if sorting moves cells within a row.
    ours, theirs = map(type, chain.from_iterable(gold)), map(type, chain.from_iterable(predicted))
    return all(map(is_, ours, theirs))


def _hashable(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with lists and maps as tuples: SQLite has neither, so the script does not handle them."""
    if _NESTED.isdisjoint(map(type, chain.from_iterable(rows))):
        return rows
    return [tuple(map(_frozen, row)) for row in rows]


def _frozen(cell: Any) -> Any:
    if isinstance(cell, dict):
        # The order of a map's entries does not count, and their values may not be sortable.
        return ("dict", frozenset((_frozen(key), _frozen(value)) for key, value in cell.items()))
    if isinstance(cell, list | tuple):
        return (type(cell).__name__, *map(_frozen, cell))
    return frozenset(map(_frozen, cell)) if isinstance(cell, set) else cell


_NESTED = {dict, list, set, tuple, MapEntries}


def _unordered(row: Row) -> Row:
    return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))


def warm_up() -> None:
    """Import sqlparse and have it compile its patterns now."""
    _without_distinct("SELECT DISTINCT 1; SELECT 2")
    _without_distinct("SELECT DISTINCT `1`")
