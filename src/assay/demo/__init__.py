"""The bundled sample: Kettle & Quill, a small online shop, with questions and one system's answers.

Written for this project and invented throughout. ``cases.jsonl`` contains the questions with their
gold query, ``predictions.jsonl`` what a system answered (right, wrong, failing, slow and hostile
answers), ``expected.jsonl`` the verdict that each must get and why. In ``sdmx`` is another small
sample: structures of two datasets, questions about them with target selections, and answers.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Literal

__all__ = [
    "DATABASE_NAME",
    "build_database",
    "cases_path",
    "expected_path",
    "newer_predictions",
    "predictions_path",
    "sdmx_path",
]

DATABASE_NAME = "shop"
"""The ``db_id`` of every case; the database's file is ``shop.sqlite``."""


_NEWER = (
    ('"SELECT city FROM customers', '"SELECT DISTINCT city FROM customers'),
    ("WHERE state = 'delivered'", "WHERE status = 'delivered'"),
    ("SELECT UPPER(email) FROM", "SELECT email FROM"),
    ('"SELECT COUNT(*) FROM customers;"', '"SELECT COUNT(city) FROM customers"'),
)


def cases_path() -> Path:
    """The question set: JSON Lines with id, question, db_id, gold_sql, difficulty and tags."""
    return _bundled("cases.jsonl")


def predictions_path() -> Path:
    """The answers: JSON Lines with id, predicted_sql, latency_s and tokens.

    One answer is null and one case has no line at all: both count as unanswered.
    """
    return _bundled("predictions.jsonl")


def newer_predictions() -> str:
    """The answers of a second version of that system, as JSON Lines: three of them fixed, one broken."""
    text = predictions_path().read_text(encoding="utf-8")
    for before, after in _NEWER:
        if text.count(before) != 1:
            raise ValueError(f"the sample's answers contain {before!r} {text.count(before)} times, and not once")
        text = text.replace(before, after)
    return text


def expected_path() -> Path:
    """The verdicts that the answers must get, one JSON object a line.

    ``outcome`` and ``flags`` are exact. ``near_misses`` names the kinds that must be among those
    recorded; ``failure`` is the kind of the failure that must be given, or null; ``why`` is a sentence.
    They hold for any time limit from about a second up.
    """
    return _bundled("expected.jsonl")


def sdmx_path(name: Literal["structures.xml", "cases.yaml", "predictions.jsonl"]) -> Path:
    """A file of the SDMX sample: structures (SDMX-ML 2.1), cases, or one system's answers in all forms there are."""
    return _bundled(f"sdmx/{name}")


def build_database(folder: Path) -> Path:
    """Create ``shop.sqlite`` in ``folder`` (made if absent) and return its path.

    The content is the same every time: it comes from SQL text, without a clock or chance. An
    existing file is replaced as a whole, so a reader never sees half a database. Raises OSError
    if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{DATABASE_NAME}.sqlite"
    with tempfile.TemporaryDirectory(prefix=f".{DATABASE_NAME}-", dir=folder) as work:
        draft = Path(work) / target.name
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA page_size = 4096")
            script = "\n".join(_bundled(part).read_text(encoding="utf-8") for part in ("schema.sql", "rows.sql"))
            connection.executescript(f"BEGIN;\n{script}\nCOMMIT;")
        draft.replace(target)
    return target


def _bundled(name: str) -> Path:
    """A data file of this package. Assay is installed as plain files, so its resources are paths."""
    found = resources.files(__name__).joinpath(name)
    if not isinstance(found, Path):
        raise FileNotFoundError(f"{name} of the bundled sample is not a plain file ({found}): install assay unzipped")
    return found
