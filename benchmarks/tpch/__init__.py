"""Eight tables in the shape of TPC-H, and 22 queries about them."""
