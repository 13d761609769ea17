"""What executing a query gives: columns, rows, cells and their JSON form, also if they were given as a file."""
