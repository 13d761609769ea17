"""Question sets and predictions: read from files in any usual layout, and joined."""

from assay.cases.fields import POSITION
from assay.cases.joining.join import Joined, join
from assay.cases.load import load_cases, load_predictions, load_questions, recognise

__all__ = ["POSITION", "Joined", "join", "load_cases", "load_predictions", "load_questions", "recognise"]
