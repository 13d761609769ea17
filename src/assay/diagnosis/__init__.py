"""Name the cause of a wrong answer, and the repair that proves it."""

from assay.diagnosis.diagnoser import CauseFinder, title_of
from assay.diagnosis.kinds import CAUSES, EXECUTION, CauseInfo

__all__ = ["CAUSES", "EXECUTION", "CauseFinder", "CauseInfo", "title_of"]
