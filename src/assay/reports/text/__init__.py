"""How numbers, cells and foreign text read in every report."""
