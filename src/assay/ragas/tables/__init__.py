"""Two tables with named columns, row beside row, as pandas and datacompy see them."""
