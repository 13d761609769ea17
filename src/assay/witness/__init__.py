"""Find a small database on which two queries differ, shrink it, and say what it assumes about the real data."""

from assay.witness.observed import RealTable
from assay.witness.refuter import Budget, RealData, Refuter

__all__ = ["Budget", "RealData", "RealTable", "Refuter"]
