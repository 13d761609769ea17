"""ragas' SQL metrics under their own names, without ragas, pandas or datacompy."""

from assay.ragas.datacompy import DataCompyScore, TableScore, compare_tables
from assay.ragas.equivalence import EquivalenceScore, LLMSQLEquivalence
from assay.ragas.sample import SingleTurnSample
from assay.ragas.tables.result import TableComparison

__all__ = [
    "DataCompyScore",
    "EquivalenceScore",
    "LLMSQLEquivalence",
    "SingleTurnSample",
    "TableComparison",
    "TableScore",
    "compare_tables",
]
