"""What two queries read, compare and count: all that making small databases for them needs to know."""

from assay.sql.witness_facts.model import ColumnKey, Constant, PairFacts, QueryReading
from assay.sql.witness_facts.read import read_pair

__all__ = ["ColumnKey", "Constant", "PairFacts", "QueryReading", "read_pair"]
