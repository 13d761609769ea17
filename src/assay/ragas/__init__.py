"""ragas' SQL metrics under their own names, without ragas, pandas or datacompy.

`assay.ragas.adapter` has the same metrics as subclasses of ragas' own, for `ragas.evaluate`.
"""

from assay.ragas.comparison import TableComparison
from assay.ragas.datacompy import DataCompyScore, TableScore, compare_tables
from assay.ragas.equivalence import EquivalenceScore, LLMSQLEquivalence, SQLSemanticEquivalence
from assay.ragas.surface import MetricResult, SingleTurnSample

__all__ = [
    "DataCompyScore",
    "EquivalenceScore",
    "LLMSQLEquivalence",
    "MetricResult",
    "SQLSemanticEquivalence",
    "SingleTurnSample",
    "TableComparison",
    "TableScore",
    "compare_tables",
]
