"""What came of two queries as one JSON document: a witness, a proof, or neither.

Top level: ``format`` (``assay-refutation``), ``version``, and the fields of `assay.model.witness.Refutation`. In
``witness``, ``first`` and ``second`` are results (``columns`` and ``rows``), ``statements`` the SQL that makes it.
"""

from __future__ import annotations

from assay.model.witness import Refutation
from assay.reports.json.refutation import refutation_fields
from assay.reports.json.run import document

FORMAT_VERSION = 1


def refutation_json(outcome: Refutation, first_sql: str, second_sql: str) -> bytes:
    """The whole outcome, UTF-8, ending in a line break."""
    return document(
        {
            "format": "assay-refutation",
            "version": FORMAT_VERSION,
            "first_sql": first_sql,
            "second_sql": second_sql,
            **refutation_fields(outcome),
        }
    )
