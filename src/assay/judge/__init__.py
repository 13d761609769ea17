"""An LLM as judge of two queries, where a user asks for one: votes, agreement, cost, and how far to trust it."""
