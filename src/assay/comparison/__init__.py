"""Whether two results are the same answer: cells, columns, rows, order, ties. Pure functions, and the core of the
product."""
