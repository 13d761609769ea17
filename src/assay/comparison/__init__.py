"""Are two results the same answer? Cells, columns, rows, order, ties: pure, and the heart of the product."""

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare, compare_with_itself
from assay.comparison.lenient import compare_leniently
from assay.comparison.readings import normalised, readings

__all__ = ["Answer", "Segment", "compare", "compare_leniently", "compare_with_itself", "normalised", "readings"]
