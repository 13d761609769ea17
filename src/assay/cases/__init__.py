"""Question sets and predictions: read from files of any usual layout, and brought together."""

from assay.cases.fields import POSITION
from assay.cases.load import Joined, join, load_cases, load_predictions, recognise

__all__ = ["POSITION", "Joined", "join", "load_cases", "load_predictions", "recognise"]
