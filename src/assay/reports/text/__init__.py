"""How numbers, cells and text from outside read in every report."""
