"""An LLM as judge of two queries, where a user asks for one: votes, agreement, cost, and how far to trust it."""

from assay.judge.calibration import Calibration, Kappa, calibrate
from assay.judge.cases import CaseQueries, JudgedCase, judge_cases
from assay.judge.judging import JudgeSettings, QueryJudge, Spending, spending
from assay.judge.opinion import Opinion, Vote
from assay.judge.prompt import Prompt, QueryPair

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
