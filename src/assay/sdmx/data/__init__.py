"""The data that selections select: read from files or asked of a service, and what a selection makes of them."""
