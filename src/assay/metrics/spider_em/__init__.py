"""Spider's exact set match, as its evaluation script computes it, known flaws included.

Source: eval_exact_match of taoyds/test-suite-sql-eval, with its defaults: values and DISTINCT do not count. Known
flaws: the script reads the SQL of its own question set alone, so that a LEFT JOIN, an alias of a column, ``a=1``
without blanks or ``<>`` make an answer wrong, whatever it means; conditions are compared as sets, their parentheses
and which of them AND and OR join are not looked at, nor what tables are joined on; a LIMIT counts, its number does not.

The script takes foreign keys from Spider's ``tables.json``, and any of the columns that refer to each other for the
other; here they are the database's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from assay.metrics.base import QueryMetric, unscorable, unscored, without_schema
from assay.metrics.spider_em.queries import Query, UnreadableError, with_columns, without_values
from assay.metrics.spider_em.reading import read_query
from assay.model import Case, Comparison, DatabaseSchema, Prediction, Score
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
    """What `SpiderEm` and its components share. The best of several gold queries that the script can read counts."""

    needs_schema: ClassVar[bool] = True

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The best score over the gold queries. None if the script can read none of them, or no schema is known."""
        failure = without_schema(case, prediction, executions)
        if failure is not None or executions.schema is None:
            return unscored(self.name, failure)
        names = _names(executions.schema)
        golds, trouble = [], ""
        for gold, execution in zip(case.golds, executions.golds, strict=False):  # given results have no query
            try:
                golds += [names.read(gold)] if execution.succeeded else []
            except UnreadableError as error:
                trouble = str(error)
        if not golds:
            return unscored(self.name, unscorable("gold", f"Spider's script cannot read the gold query: {trouble}"))
        try:
            predicted, said = names.read(prediction.query or ""), ""
        except UnreadableError as error:
            predicted, said = Query(), f"Spider's script cannot read the query: {error}"
        scores = [self._of(gold, predicted, said) for gold in golds]
        return max(scores, key=lambda score: -1.0 if score.value is None else score.value)

    def _of(self, gold: Query, predicted: Query, said: str) -> Score:
        raise NotImplementedError


class SpiderEm(_ExactSetMatch):
    """1 if the clauses of both queries agree as sets, whatever their values; see the module for its flaws.

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
    """1 if one component of the two queries agrees in full; None if neither query has it.

    The script's accuracy of a component is over the answers that have it, its recall over the gold queries that have
    it: the detail says where one of the two lacks it.
    """

    component: ClassVar[str]
    meaning: ClassVar[str]

    def _of(self, gold: Query, predicted: Query, said: str) -> Score:
        found = COMPONENTS[self.component](gold, predicted)
        if found.absent:
            return unscored(self.name, unscorable("gold", f"neither query has the component {self.component!r}"))
        detail = None if found.full else said
        if not found.predicted:
            detail = "only the gold query has it"
        elif not found.gold:
            detail = "only the prediction has it"
        return Score(metric=self.name, value=float(found.full), detail=detail)


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
    columns = [f"{table}.{column}" for table, names in tables.items() for column in names]
    place = {column: index for index, column in enumerate(columns)}
    linked = {}
    for group in groups:
        first = min(group, key=lambda column: place.get(column, len(place)))
        linked.update(dict.fromkeys(group, first))
    return _Names(tables=tables, linked=linked)


class Agreement(Struct, frozen=True, kw_only=True):
    """How one component fares: how many of its parts gold and the prediction have, and how many are shared."""

    gold: int
    predicted: int
    shared: int

    @property
    def full(self) -> bool:
        """Whether the component counts as matched: both have as many parts, and all are shared."""
        return self.gold == self.predicted == self.shared

    @property
    def absent(self) -> bool:
        """Whether neither has anything of it."""
        return self.gold == self.predicted == 0


def _shared(parts: Callable[[Query], Iterable[Any]]) -> Callable[[Query, Query], Agreement]:
    def agreement(gold: Query, predicted: Query) -> Agreement:
        ours, theirs = Counter(parts(gold)), Counter(parts(predicted))
        return Agreement(gold=ours.total(), predicted=theirs.total(), shared=(ours & theirs).total())

    return agreement


def _grouping(gold: Query, predicted: Query) -> Agreement:
    """GROUP BY with HAVING: the columns in their order."""
    names = [[column.name for column in query.grouped] for query in (gold, predicted)]
    same = all(names) and names[0] == names[1] and gold.having == predicted.having
    return _once(gold.grouped, predicted.grouped, same)


def _ordering(gold: Query, predicted: Query) -> Agreement:
    """ORDER BY, and whether there is a LIMIT, whatever its number."""
    same = (gold.direction, gold.ordered) == (predicted.direction, predicted.ordered)
    limited = (gold.limit is None) == (predicted.limit is None)
    return _once(gold.direction, predicted.direction, same and limited)


def _once(gold: object, predicted: object, same: bool) -> Agreement:  # noqa: FBT001
    return Agreement(gold=int(bool(gold)), predicted=int(bool(predicted)), shared=int(bool(gold) and same))


def _connectives(gold: Query, predicted: Query) -> Agreement:
    ours, theirs = set(gold.where.connectives), set(predicted.where.connectives)
    if ours == theirs:
        return Agreement(gold=1, predicted=1, shared=1)
    return Agreement(gold=len(ours), predicted=len(theirs), shared=0)


def _combinations(gold: Query, predicted: Query) -> Agreement:
    pairs = [
        (gold.intersect, predicted.intersect),
        (gold.except_, predicted.except_),
        (gold.union, predicted.union),
    ]
    return Agreement(
        gold=sum(one is not None for one, _ in pairs),
        predicted=sum(other is not None for _, other in pairs),
        shared=sum(one is not None and other is not None and matches(one, other) for one, other in pairs),
    )


def _keywords(query: Query) -> Iterator[str]:
    conditions = list(query.conditions)
    parts = (query.on, query.where, query.having)
    said = {
        "where": bool(query.where.each),
        "group": bool(query.grouped),
        "having": bool(query.having.each),
        "order": query.direction is not None,
        str(query.direction): query.direction is not None,
        "limit": query.limit is not None,
        "except": query.except_ is not None,
        "union": query.union is not None,
        "intersect": query.intersect is not None,
        "or": any("or" in part.connectives for part in parts),
        "not": any(condition.negated for condition in conditions),
        "in": any(condition.operator == "in" for condition in conditions),
        "like": any(condition.operator == "like" for condition in conditions),
    }
    return (word for word, there in said.items() if there)


COMPONENTS: dict[str, Callable[[Query, Query], Agreement]] = {
    "select": _shared(lambda query: query.selected),
    "select(no AGG)": _shared(lambda query: [term for _, term in query.selected]),
    "where": _shared(lambda query: query.where.each),
    "where(no OP)": _shared(lambda query: [condition.term for condition in query.where.each]),
    "group(no Having)": _shared(lambda query: [column.name.rpartition(".")[2] for column in query.grouped]),
    "group": _grouping,
    "order": _ordering,
    "and/or": _connectives,
    "IUEN": _combinations,
    "keywords": _shared(_keywords),
}
"""The script's components by its own names, in its order."""


def matches(gold: Query, predicted: Query) -> bool:
    """Whether all components match and both read the same tables."""
    if not all(agreement(gold, predicted).full for agreement in COMPONENTS.values()):
        return False
    return not gold.tables or Counter(gold.tables) == Counter(predicted.tables)
