"""The question sets of Google's EvalBench: gold queries by SQL dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.records import Record, Table
from assay.cases.tools.frame import ToolFormat, changed, chosen
from assay.model import FieldNames
from assay.platform.surface import option

_UNDER = "golden_sql"


class EvalBenchFormat(ToolFormat):
    """Items with ``nl_prompt`` (or ``nlq``), ``database``, ``query_type`` and ``golden_sql``: a text, or an object from
    the dialect to its accepted queries.

    The gold column names the dialect if there are several: ``--gold-column golden_sql.postgres``, or ``postgres``; it
    is not needed if all have the same queries. Items that lack the dialect are not for it and are left out. The
    kind of query becomes a tag. What sets a database up and cleans it is not run: Assay only reads.
    """

    name = "evalbench"
    marks: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"nl_prompt", "golden_sql"}),
        frozenset({"nlq", "golden_sql"}),
    )
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "question": ("nl_prompt", "nlq"),
        "gold": (_UNDER,),
        "database": ("database",),
        "prediction": ("generated_sql",),
    }

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The items that have the dialect, with its gold queries and the kind of query among the tags."""
        names = list(dict.fromkeys(name for record in table.records for name in _dialects(record)))
        if not names:
            return table, fields
        wanted = None if fields.gold is None else fields.gold.removeprefix(f"{_UNDER}.")
        dialect = None
        golds = (list(_dialects(record).values()) for record in table.records)
        if wanted is not None or any(gold != several[0] for several in golds for gold in several):
            dialect = chosen(table.path, wanted, names, "dialect", option("--gold-column", f"{_UNDER}.{names[0]}"))
        kept = [
            record
            for record in table.records
            if dialect is None or not (found := _dialects(record)) or dialect in found
        ]
        items = [_item(record, dialect) for record in kept]
        return changed(Table.of(table.path, kept), items), replace(fields, gold=_UNDER)


def _dialects(record: Record) -> Mapping[str, object]:
    found = record.values.get(_UNDER)
    return found if isinstance(found, Mapping) else {}


def _item(record: Record, dialect: str | None) -> dict[str, object]:
    golds = _dialects(record)
    gold = record.values.get(_UNDER)
    if golds:
        gold = golds[dialect] if dialect is not None else next(iter(golds.values()))
    tags = record.values.get("tags")
    own = tags if isinstance(tags, list) else [tags] if tags else []
    kind = record.values.get("query_type")
    return {_UNDER: gold, "tags": [*own, kind] if kind else own}
