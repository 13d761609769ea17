"""Results that question sets and prediction files give instead of queries: inline, or in files of their own."""
