"""Retrieval: which of the tables and columns that the gold query needs the system was given before it wrote its query.

With G the items that the gold query uses (`assay.sql.schema_items`) and C those that the system reports
(`Prediction.context_tables`, `Prediction.context_columns`), recall is ``|G ∩ C| / |G|``, precision ``|G ∩ C| / |C|``.
The predicted query plays no part: an answer that fails, or that is none, has the same scores.

A run computes these metrics by itself for each prediction with a context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from assay.metrics.base import QueryMetric, gold_failure, unscorable, unscored
from assay.metrics.schema_linking import gold_items, named
from assay.model import Case, Comparison, DatabaseSchema, Prediction, Score
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE
from assay.ports import Executions

if TYPE_CHECKING:
    from assay.sql.context.matching import ContextItems, Readings
    from assay.sql.schema import SchemaNames
    from assay.sql.schema_items import SchemaItems


class _Retrieval(QueryMetric):
    """What the metrics share. Of several gold queries, the best value counts."""

    binary: ClassVar[bool] = False
    needs_schema: ClassVar[bool] = True

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The best value over the gold queries that can be read. None: there is none, or no context is known."""
        from assay.sql.context.matching import context_items
        from assay.sql.schema import names_of

        if not prediction.has_context:
            return unscored(self.name, unscorable("setup", "the system does not say which tables it was given"))
        if executions.apart:
            return unscored(
                self.name, unscorable("setup", "it does not apply: the gold query runs on another database")
            )
        if not any(gold.succeeded for gold in executions.golds):
            return unscored(self.name, gold_failure(executions.golds))
        # Without a schema, such as Denodo's, tables go by their names alone.
        schema = executions.schema or DatabaseSchema(dialect=executions.dialect, tables=())
        names = names_of(schema)
        golds, trouble = gold_items(case, executions, names)
        if not golds:
            return unscored(self.name, unscorable("gold", trouble))
        context = context_items(prediction.context_tables, prediction.context_columns, names, case.database)
        scores = [self._beside(_known(items, names), context) for items in golds]
        return max(scores, key=lambda score: -1.0 if score.value is None else score.value)

    def _beside(self, gold: SchemaItems, context: ContextItems) -> Score:
        raise NotImplementedError


def _known(items: SchemaItems, names: SchemaNames) -> SchemaItems:
    """What a system can be given of the items: no column that every table has and no schema lists, such as ROWID."""
    if not names.tables:
        tables = frozenset(table.rpartition(".")[2] for table in items.tables)
        return type(items)(tables, items.columns)
    split = ((column, *column.rpartition(".")[::2]) for column in items.columns)
    columns = frozenset(
        key for key, table, column in split if table and (names.column(table, column) or not names.table(table))
    )
    return type(items)(items.tables, columns)


class _Share(_Retrieval):
    """Recall or precision of tables or columns."""

    items: ClassVar[Literal["tables", "columns"]]
    share: ClassVar[Literal["recall", "precision"]]

    def _beside(self, gold: SchemaItems, context: ContextItems) -> Score:
        of_gold = gold.tables if self.items == "tables" else gold.columns
        given: tuple[Readings, ...] | None = context.tables if self.items == "tables" else context.columns
        if given is None:
            what = "the system does not say which columns it was given, or the database's columns cannot be read"
            return unscored(self.name, unscorable("setup", what))
        if not of_gold:
            return unscored(self.name, unscorable("gold", f"the gold query uses no {self.items}"))
        if self.share == "precision":
            if not given:
                return unscored(self.name, unscorable("setup", f"the system was given no {self.items}"))
            return Score(metric=self.name, value=sum(not of_gold.isdisjoint(one) for one in given) / len(given))
        missing = of_gold.difference(*given)
        detail = f"missing: {named(sorted(missing))}" if missing else None
        return Score(metric=self.name, value=1 - len(missing) / len(of_gold), detail=detail)


class ContextTableRecall(_Share):
    """The share of the gold query's tables that the system was given."""

    name: ClassVar[str] = "context_table_recall"
    meaning: ClassVar[str] = "retrieval: share of the gold query's tables that the system was given"
    items = "tables"
    share = "recall"


class ContextTablePrecision(_Share):
    """The share of the given tables that the gold query uses."""

    name: ClassVar[str] = "context_table_precision"
    meaning: ClassVar[str] = "retrieval: share of the given tables that the gold query uses"
    items = "tables"
    share = "precision"


class ContextColumnRecall(_Share):
    """The share of the gold query's columns that the system was given."""

    name: ClassVar[str] = "context_column_recall"
    meaning: ClassVar[str] = "retrieval: share of the gold query's columns that the system was given"
    items = "columns"
    share = "recall"


class ContextColumnPrecision(_Share):
    """The share of the given columns that the gold query uses."""

    name: ClassVar[str] = "context_column_precision"
    meaning: ClassVar[str] = "retrieval: share of the given columns that the gold query uses"
    items = "columns"
    share = "precision"


class ContextComplete(_Retrieval):
    """Whether the system was given everything that a gold query uses.

    It is 0 or 1, and yet not ``binary``: it does not score the answer, so that no report compares it with metrics that
    do, case by case.
    """

    name: ClassVar[str] = CONTEXT_COMPLETE
    meaning: ClassVar[str] = "retrieval: whether the system was given everything that the gold query uses"

    def _beside(self, gold: SchemaItems, context: ContextItems) -> Score:
        if not gold.tables:
            return unscored(self.name, unscorable("gold", "the gold query uses no tables"))
        missing = gold.tables - context.all_tables
        if context.columns is not None:
            of_missing = tuple(f"{table}." for table in missing)
            missing |= {one for one in gold.columns - context.all_columns if not one.startswith(of_missing)}
        detail = f"missing: {named(sorted(missing))}" if missing else None
        return Score(metric=self.name, value=0.0 if missing else 1.0, detail=detail)


RETRIEVAL = (ContextTableRecall, ContextTablePrecision, ContextColumnRecall, ContextColumnPrecision, ContextComplete)
"""What a run computes by itself if predictions say what the system was given."""
