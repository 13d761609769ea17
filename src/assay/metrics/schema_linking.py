"""Schema linking: which tables and columns of the schema the prediction uses, compared with those of the gold query.

Both queries are read on the database's schema (`assay.sql.schema_items`); nothing is executed, and an execution error
changes no value. With G the items of the gold query and P those of the prediction, recall is ``|G ∩ P| / |G|``,
precision ``|G ∩ P| / |P|``, and F1 their harmonic mean, ``2 |G ∩ P| / (|G| + |P|)``. A prediction that cannot be read,
or uses no item, scores 0 in all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.metrics.base import QueryMetric, unscorable, unscored, without_schema
from assay.model import Case, Comparison, Prediction, Score
from assay.ports import Executions

if TYPE_CHECKING:
    from assay.sql.schema import SchemaNames
    from assay.sql.schema_items import SchemaItems

_MOST_NAMED = 10


def gold_items(case: Case, executions: Executions, names: SchemaNames) -> tuple[list[SchemaItems], str]:
    """What each gold query uses that could be executed and read; if there is none, also why."""
    from assay.sql.query import Unreadable
    from assay.sql.schema_items import schema_items

    found, trouble = [], "no gold query is given"
    for gold, execution in zip(case.golds, executions.golds, strict=False):  # given results have no query
        if not execution.succeeded:
            continue
        items = schema_items(gold, names.dialect, names)
        if isinstance(items, Unreadable):
            trouble = f"the gold query {items.reason}"
        else:
            found.append(items)
    return found, "" if found else trouble


class _SchemaLinking(QueryMetric):
    """What the six metrics share. Of several gold queries, the best value counts."""

    binary: ClassVar[bool] = False
    needs_schema: ClassVar[bool] = True
    items: ClassVar[Literal["tables", "columns"]]
    share: ClassVar[Literal["recall", "precision", "f1"]]

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The best value over the gold queries that can be read. None: there is none, or no schema is known."""
        # Who only lists metrics reads no queries.
        from assay.sql.query import Unreadable
        from assay.sql.schema import names_of
        from assay.sql.schema_items import schema_items

        failure = without_schema(case, prediction, executions)
        if failure is not None or executions.schema is None:
            return unscored(self.name, failure)
        names = names_of(executions.schema)
        golds, trouble = gold_items(case, executions, names)
        wanted = [of_gold for items in golds if (of_gold := self._of(items))]
        if not wanted:
            return unscored(self.name, unscorable("gold", trouble or f"the gold query uses no {self.items}"))
        if prediction.query is None:
            return Score(metric=self.name, value=0.0)
        used = schema_items(prediction.query, names.dialect, names)
        if isinstance(used, Unreadable):
            return Score(metric=self.name, value=0.0, detail=f"the prediction {used.reason}")
        theirs = self._of(used)
        scores = [self._beside(gold, theirs) for gold in wanted]
        return max(scores, key=lambda score: score.value or 0.0)

    def _of(self, used: SchemaItems) -> frozenset[str]:
        return used.tables if self.items == "tables" else used.columns

    def _beside(self, gold: frozenset[str], predicted: frozenset[str]) -> Score:
        common = len(gold & predicted)
        of = {"recall": len(gold), "precision": len(predicted), "f1": (len(gold) + len(predicted)) / 2}[self.share]
        sides = (
            ("missing", gold - predicted if self.share != "precision" else ()),
            ("extra", predicted - gold if self.share != "recall" else ()),
        )
        detail = "; ".join(f"{title}: {named(sorted(names))}" for title, names in sides if names)
        return Score(metric=self.name, value=common / of if of else 0.0, detail=detail or None)


class TableRecall(_SchemaLinking):
    """The share of the gold query's tables that the prediction uses."""

    name: ClassVar[str] = "table_recall"
    meaning: ClassVar[str] = "schema linking: share of the gold query's tables that the prediction uses"
    items = "tables"
    share = "recall"


class TablePrecision(_SchemaLinking):
    """The share of the prediction's tables that the gold query uses."""

    name: ClassVar[str] = "table_precision"
    meaning: ClassVar[str] = "schema linking: share of the prediction's tables that the gold query uses"
    items = "tables"
    share = "precision"


class TableF1(_SchemaLinking):
    """The harmonic mean of both."""

    name: ClassVar[str] = "table_f1"
    meaning: ClassVar[str] = "schema linking: harmonic mean of table_recall and table_precision"
    items = "tables"
    share = "f1"


class ColumnRecall(_SchemaLinking):
    """The share of the gold query's columns that the prediction uses."""

    name: ClassVar[str] = "column_recall"
    meaning: ClassVar[str] = "schema linking: share of the gold query's columns that the prediction uses"
    items = "columns"
    share = "recall"


class ColumnPrecision(_SchemaLinking):
    """The share of the prediction's columns that the gold query uses."""

    name: ClassVar[str] = "column_precision"
    meaning: ClassVar[str] = "schema linking: share of the prediction's columns that the gold query uses"
    items = "columns"
    share = "precision"


class ColumnF1(_SchemaLinking):
    """The harmonic mean of both."""

    name: ClassVar[str] = "column_f1"
    meaning: ClassVar[str] = "schema linking: harmonic mean of column_recall and column_precision"
    items = "columns"
    share = "f1"


def named(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
