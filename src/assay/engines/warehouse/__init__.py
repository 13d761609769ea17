"""Common parts of the engines for warehouses: which texts are sent, how rows are streamed under limits, how a query
ends."""
