"""Comparison of two tables with named columns, row by row, as pandas and datacompy do it."""
