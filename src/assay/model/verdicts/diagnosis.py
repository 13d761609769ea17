"""Why an answer is wrong, and the repair that proves it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from assay.model.verdicts.verdict import Strength

CauseKind = Literal[
    "attribute_mismatch",
    "attribute_redundancy",
    "attribute_missing",
    "table_mismatch",
    "table_redundancy",
    "table_missing",
    "join_condition_mismatch",
    "join_type_mismatch",
    "value_mismatch",
    "data_format_mismatch",
    "comparison_operator_mismatch",
    "logical_operator_mismatch",
    "explicit_condition_missing",
    "explicit_condition_mismatch",
    "explicit_condition_redundancy",
    "implicit_condition_missing",
    "aggregate_functions",
    "window_functions",
    "date_time_functions",
    "conversion_functions",
    "math_functions",
    "string_functions",
    "conditional_functions",
    "clause_missing",
    "clause_redundancy",
    "subquery_missing",
    "subquery_mismatch",
    "partial_query",
    "asc_desc",
    "distinct",
    "other",
    "scale",
    "rounding",
    "sign",
    "result_type",
    "letter_case",
    "unanswered",
    "held_back",
    "refused",
    "syntax",
    "unknown_table",
    "unknown_column",
    "type_error",
    "timeout",
    "failed",
    "rewrite",
    "ambiguous_gold",
    "wrong_term",
    "missing_term",
    "extra_term",
    "invented_term",
    "wrong_dataset",
    "wrong_period",
]
"""The 31 subcategories of NL2SQL-BUGs, then what the results tell, what execution alone tells, and those of selections.

`assay.diagnosis.kinds` says what each is.
"""

Symptom = Literal["fan_out", "null_handling", "integer_division", "value_never_occurs"]
"""What the data shows of a cause: a join that multiplies rows, NULLs that count otherwise, a division that drops the
fraction, a value that its column does not hold."""

SchemaUse = Literal["other_tables", "other_columns", "same"]
"""The tables and columns that a prediction uses, compared with those of the gold query that is nearest in this.
``same``: the answer is wrong with the same ones."""


class Cause(Struct, frozen=True, kw_only=True, gc=False):
    """One cause of a wrong answer, with evidence that a person can check."""

    kind: CauseKind
    message: str
    """One sentence that names what gold and the prediction say, or what the database holds."""
    clause: str = ""
    """Clause of the query, for example ``WHERE``, or part of the selection; empty if it did not run."""
    gold: str = ""
    predicted: str = ""
    symptom: Symptom | None = None
    proved: bool = False
    """Putting the gold query's clause in its place is part of the repair that makes the answer right."""
    table: str = ""
    """The table it is about, if it is about one."""
    column: str = ""
    """The column it is about, if it is about one."""


class RepairStep(Struct, frozen=True, kw_only=True, gc=False):
    """One clause of the prediction, and the gold query's clause in its place; empty if there is none."""

    clause: str
    before: str
    after: str


class Repair(Struct, frozen=True, kw_only=True, gc=False):
    """The smallest change found that makes the answer right: the prediction with these clauses of the gold query's."""

    steps: tuple[RepairStep, ...]
    query: str
    """The repaired prediction. It was executed and scored right; a selection was scored again."""
    strength: Strength = "none"
    """The strength of the repaired query, as of a match; ``none``: no search."""
    elsewhere: str = ""
    """In a sentence, how another database distinguishes the repaired query from the gold query: more is wrong than
    this repair fixes."""


class Diagnosis(Struct, frozen=True, kw_only=True, gc=False):
    """Why an answer is wrong: the primary cause first."""

    causes: tuple[Cause, ...]
    repair: Repair | None = None
    tried: int = 0
    """How many repairs were executed."""
    notes: tuple[str, ...] = ()
    """Why no more is known, such as a prediction that cannot be parsed."""

    alike: tuple[str, ...] = ()
    """Clauses, for example ``FROM``, that are the same in both queries, however they are spelt; empty if either has
    more than one SELECT, and for selections."""

    title: str | None = None
    """The name under which reports count the primary cause."""

    schema_use: SchemaUse | None = None
    """None: a query, or the schema, cannot be read; there is no query; or an earlier version made the run."""

    @property
    def primary(self) -> Cause | None:
        """The first cause."""
        return self.causes[0] if self.causes else None
