"""Prove that two queries give the same answer on every database that satisfies the declared constraints."""

from __future__ import annotations

from assay.witness.proof.proving import prove

__all__ = ["prove"]
