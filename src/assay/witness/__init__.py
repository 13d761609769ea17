"""Evidence beyond one database: a counterexample (in the literature a *witness*), or a proof that there is none."""

from assay.witness.observed import RealTable
from assay.witness.pair import Budget, RealData
from assay.witness.refuter import Refuter, prove_alone

__all__ = ["Budget", "RealData", "RealTable", "Refuter", "prove_alone"]
