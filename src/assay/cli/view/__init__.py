"""The local server that shows a run in the browser."""
