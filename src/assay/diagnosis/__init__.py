"""Name the cause of a wrong answer, and the repair that proves it: `assay.diagnosis.diagnoser.CauseFinder`.

Only the descriptions of the causes are imported here: reports need them, but not the search for causes.
"""

from assay.diagnosis.kinds import CAUSES, EXECUTION, SELECTION, CauseInfo

__all__ = ["CAUSES", "EXECUTION", "SELECTION", "CauseInfo"]
