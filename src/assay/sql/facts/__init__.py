"""What a query consists of, as plain data that rules and reports can look at without a parser."""

from assay.sql.facts.model import (
    Aggregate,
    ColumnRef,
    Condition,
    Division,
    JoinPair,
    Level,
    OrderKey,
    Output,
    Place,
    QueryFacts,
    Source,
    Term,
)
from assay.sql.facts.probes import column_name, column_probe, pairs_probe, probe_of_level, table_name, value_probe
from assay.sql.facts.read import comments_of, read_facts
from assay.sql.schema_names import SchemaNames, type_family

__all__ = [
    "Aggregate",
    "ColumnRef",
    "Condition",
    "Division",
    "JoinPair",
    "Level",
    "OrderKey",
    "Output",
    "Place",
    "QueryFacts",
    "SchemaNames",
    "Source",
    "Term",
    "column_name",
    "column_probe",
    "comments_of",
    "pairs_probe",
    "probe_of_level",
    "read_facts",
    "table_name",
    "type_family",
    "value_probe",
]
