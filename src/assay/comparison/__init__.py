"""Are two results the same answer? Cells, columns, rows, order, ties: pure, and the heart of the product."""
