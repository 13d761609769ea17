"""Results that question sets and prediction files give in place of queries: inline, or in files beside them."""
