"""What a review says of the database: its content, or nothing where that is not known."""

from __future__ import annotations

import pytest

from assay.model import Fingerprint, Limits, Provenance, RunSettings
from assay.runs.reviews.keys import database_digest, database_hash


@pytest.mark.parametrize(
    ("database", "url", "digest", "known"),
    [
        ("sqlite:///dbs/{db_id}.sqlite", "sqlite:///dbs/shop.sqlite", "abc", True),
        ("shop: duckdb:///a.db, other: duckdb:///b.db", "duckdb:///a.db", "abc", True),
        ("postgresql://h/shop", "postgresql://h/shop", "content-abc (PostgreSQL 15.3)", True),
        ("postgresql://h/shop", "postgresql://h/shop", "counters-abc (PostgreSQL 15.3)", False),
        ("postgresql+psycopg2://h/shop", "postgresql+psycopg2://h/shop", "abc", False),
        ("mysql://h/shop", "mysql://h/shop", "abc", True),
        ("mysql://h/shop", "mysql://h/shop", "schema-abc", False),
        ("clickhouse://h/shop", "clickhouse://h/shop", "parts-abc (ClickHouse 24)", False),
        ("snowflake://ana@h/shop", "snowflake://ana@h/shop", "abc", False),
        ("denodo+http://h/shop", "denodo+http://h/shop", "abc", False),
        ("sqlite:///{db_id}.sqlite", "sqlite:///another.sqlite", "abc", None),
    ],
)
def test_only_a_hash_of_the_content_makes_a_review_stale(
    database: str, url: str, digest: str, known: bool | None
) -> None:
    settings = RunSettings(cases="", predictions="", database=database, metrics=(), limits=Limits())
    inputs = (Fingerprint(name="dev.jsonl", digest="x"), Fingerprint(name=url, digest=digest))
    provenance = Provenance(assay_version="", python_version="", platform="", inputs=inputs)
    assert database_digest(settings, provenance, "shop") == ("" if known is None else digest)
    assert database_hash(settings, provenance, "shop") == (digest if known else "")
