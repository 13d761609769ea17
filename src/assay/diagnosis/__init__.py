"""Name the cause of a wrong answer, and the repair that proves it: `assay.diagnosis.diagnoser.CauseFinder`.

Only what is said of the causes is imported here: reports need that, and none of what finds them.
"""

from assay.diagnosis.kinds import CAUSES, EXECUTION, SELECTION, CauseInfo

__all__ = ["CAUSES", "EXECUTION", "SELECTION", "CauseInfo"]
