"""An LLM as an optional judge of two queries: votes, agreement, cost, and its calibration."""

from assay.llm_judge.calibration import Calibration, calibrate
from assay.llm_judge.cases import CaseQueries, JudgedCase, judge_cases
from assay.llm_judge.judge import JudgeSettings, QueryJudge, Spending, spending
from assay.llm_judge.opinion import Opinion, Vote
from assay.llm_judge.prompt import Prompt, QueryPair
from assay.model import Kappa

__all__ = [
    "Calibration",
    "CaseQueries",
    "JudgeSettings",
    "JudgedCase",
    "Kappa",
    "Opinion",
    "Prompt",
    "QueryJudge",
    "QueryPair",
    "Spending",
    "Vote",
    "calibrate",
    "judge_cases",
    "spending",
]
