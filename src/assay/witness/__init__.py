"""Evidence beyond one database: a small database on which two queries differ, or a proof that there is none."""

from assay.witness.observed import RealTable
from assay.witness.refuter import Budget, RealData, Refuter

__all__ = ["Budget", "RealData", "RealTable", "Refuter"]
