"""What the engines of warehouses share: which texts are sent, how rows are streamed under limits, how a query ends."""
