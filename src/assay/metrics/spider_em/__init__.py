"""Spider's exact set match, as its evaluation script computes it, known flaws included.

Source: eval_exact_match of taoyds/test-suite-sql-eval, with its defaults: values and DISTINCT do not count. Known
flaws: the script reads the SQL of its own question set alone, so that a LEFT JOIN, an alias of a column, ``a=1``
without blanks or ``<>`` make an answer wrong, whatever it means; conditions are compared as sets, their parentheses
and which of them AND and OR join are not looked at, nor what tables are joined on; a LIMIT counts, its number does not.

The script takes foreign keys from Spider's ``tables.json``, and any of the columns that refer to each other for the
other; here they are the database's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from assay.metrics.base import QueryMetric, befallen, gold_failure, unscored, without_query
from assay.metrics.spider_em.matching import COMPONENTS, Agreement, matches
from assay.metrics.spider_em.queries import Query, UnreadableError, with_columns, without_values
from assay.metrics.spider_em.reading import read_query
from assay.model import Case, Comparison, DatabaseSchema, Failure, Prediction, Score
from assay.ports import Executions

_MOST_SCHEMAS = 200


class _Names(Struct, frozen=True, kw_only=True):
    """A database as the script knows it: columns by table, and the column that each linked column is taken for."""

    tables: Mapping[str, Sequence[str]]
    linked: Mapping[str, str]

    def read(self, text: str) -> Query:
        """A query, ready to be compared. Raises UnreadableError."""
        query = without_values(read_query(text, self.tables))
        own = {table for table in query.tables if isinstance(table, str)}

        def named(column: str) -> str:
            return self.linked.get(column, column) if column.partition(".")[0] in own else column

        return with_columns(query, named)


class _ExactSetMatch(QueryMetric):
    """What `SpiderEm` and its components share. The best of several golds that the script can read counts."""

    needs_schema: ClassVar[bool] = True
    scores_text: ClassVar[bool] = True

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The best score over the golds. None where the script can read none of them, or no schema is known."""
        if (failure := without_query(case, prediction, executions)) is not None:
            return unscored(self.name, failure)
        if not any(gold.succeeded for gold in executions.golds):
            return unscored(self.name, gold_failure(executions.golds))
        if failure := befallen(prediction, executions.predicted):
            return unscored(self.name, failure)
        if executions.schema is None:
            return unscored(self.name, _failure("setup", "the database's tables and columns cannot be read"))
        names = _names(executions.schema)
        golds, trouble = [], ""
        for gold, execution in zip(case.golds, executions.golds, strict=False):  # given results have no query
            try:
                golds += [names.read(gold)] if execution.succeeded else []
            except UnreadableError as error:
                trouble = str(error)
        if not golds:
            return unscored(self.name, _failure("gold", f"Spider's script cannot read the gold query: {trouble}"))
        try:
            predicted, said = names.read(prediction.query or ""), ""
        except UnreadableError as error:
            predicted, said = Query(), f"Spider's script cannot read the query: {error}"
        scores = [self._of(gold, predicted, said) for gold in golds]
        return max(scores, key=lambda score: -1.0 if score.value is None else score.value)

    def _of(self, gold: Query, predicted: Query, said: str) -> Score:
        raise NotImplementedError


class SpiderEm(_ExactSetMatch):
    """1 where the clauses of both queries agree as sets, whatever their values; see the module for its flaws.

    The detail names the components that do not agree.
    """

    name: ClassVar[str] = "spider_em"
    meaning: ClassVar[str] = "Spider: exact set match of the clauses without values, its quirks kept"

    def _of(self, gold: Query, predicted: Query, said: str) -> Score:
        if matches(gold, predicted):
            return Score(metric=self.name, value=1.0)
        parts = [name for name, agreement in COMPONENTS.items() if not agreement(gold, predicted).full]
        return Score(metric=self.name, value=0.0, detail=said or f"differs in {', '.join(parts or ['the tables'])}")


class _Component(_ExactSetMatch):
    """1 where one component of the two queries agrees in full; None where neither query has it.

    The script's accuracy of a component is over the answers that have it, its recall over the golds that have it: the
    detail says where one of the two lacks it.
    """

    component: ClassVar[str]
    meaning: ClassVar[str]

    def _of(self, gold: Query, predicted: Query, said: str) -> Score:
        found = COMPONENTS[self.component](gold, predicted)
        if found.absent:
            return unscored(self.name, _failure("gold", f"neither query has the component {self.component!r}"))
        return Score(
            metric=self.name, value=float(found.full), detail=_lacking(found) or (None if found.full else said)
        )


class SpiderEmSelect(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_select"
    meaning: ClassVar[str] = "Spider's exact set match, one component: the selected columns with their aggregates"
    component: ClassVar[str] = "select"


class SpiderEmSelectNoAgg(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_select_no_agg"
    meaning: ClassVar[str] = "Spider's exact set match, one component: the selected columns, whatever their aggregates"
    component: ClassVar[str] = "select(no AGG)"


class SpiderEmWhere(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_where"
    meaning: ClassVar[str] = "Spider's exact set match, one component: the conditions of WHERE"
    component: ClassVar[str] = "where"


class SpiderEmWhereNoOp(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_where_no_op"
    meaning: ClassVar[str] = "Spider's exact set match, one component: what WHERE compares, whatever the operators"
    component: ClassVar[str] = "where(no OP)"


class SpiderEmGroupNoHaving(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_group_no_having"
    meaning: ClassVar[str] = "Spider's exact set match, one component: the names of the columns of GROUP BY"
    component: ClassVar[str] = "group(no Having)"


class SpiderEmGroup(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_group"
    meaning: ClassVar[str] = "Spider's exact set match, one component: GROUP BY with HAVING"
    component: ClassVar[str] = "group"


class SpiderEmOrder(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_order"
    meaning: ClassVar[str] = "Spider's exact set match, one component: ORDER BY, and whether there is a LIMIT"
    component: ClassVar[str] = "order"


class SpiderEmAndOr(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_and_or"
    meaning: ClassVar[str] = "Spider's exact set match, one component: AND and OR in WHERE"
    component: ClassVar[str] = "and/or"


class SpiderEmIuen(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_iuen"
    meaning: ClassVar[str] = "Spider's exact set match, one component: INTERSECT, UNION and EXCEPT"
    component: ClassVar[str] = "IUEN"


class SpiderEmKeywords(_Component):
    """One component of `SpiderEm`."""

    name: ClassVar[str] = "spider_em_keywords"
    meaning: ClassVar[str] = "Spider's exact set match, one component: the keywords used"
    component: ClassVar[str] = "keywords"


def _lacking(found: Agreement) -> str:
    if not found.predicted:
        return "only gold has it"
    return "" if found.gold else "only the prediction has it"


def _names(schema: DatabaseSchema) -> _Names:
    """The schema in the script's terms, made once for each schema that is in use."""
    known = _KNOWN.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_KNOWN) >= _MOST_SCHEMAS:
            _KNOWN.clear()
        known = _KNOWN[id(schema)] = (schema, _names_of(schema))
    return known[1]


_KNOWN: dict[int, tuple[DatabaseSchema, _Names]] = {}


def _names_of(schema: DatabaseSchema) -> _Names:
    stored = [table for table in schema.tables if table.kind == "table"]
    tables = {table.name.lower(): [column.name.lower() for column in table.columns] for table in stored}
    keys = {table.name.lower(): table.primary_key for table in stored}
    groups: list[set[str]] = []
    for table in stored:
        for key in table.foreign_keys:
            other = key.table.lower()
            for own, referenced in zip(key.columns, key.referenced or keys.get(other, ()), strict=False):
                pair = {f"{table.name.lower()}.{own.lower()}", f"{other}.{referenced.lower()}"}
                # As in the script, a pair joins the first group that it touches, and two groups are never joined.
                group = next((group for group in groups if group & pair), None)
                if group is None:
                    groups.append(pair)
                else:
                    group |= pair
    place = {f"{table}.{column}": index for index, (table, column) in enumerate(_columns(tables))}
    linked = {}
    for group in groups:
        first = min(group, key=lambda column: place.get(column, len(place)))
        linked.update(dict.fromkeys(group, first))
    return _Names(tables=tables, linked=linked)


def _columns(tables: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(table, column) for table, columns in tables.items() for column in columns]


def _failure(blame: Literal["gold", "setup"], message: str) -> Failure:
    return Failure(stage="score", kind="unscorable", blame=blame, message=message)
