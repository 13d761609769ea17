"""The result of the search for a counterexample, as the fields of a JSON document."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Cause, Repair, Result
from assay.model.results.cell_json import cell_to_json
from assay.model.witness import Refutation, WitnessTable

_WRITTEN: dict[type[Struct], tuple[str, ...]] = {
    Refutation: (
        *("kind", "why", "reason", "level", "broken", "alternatives", "causes", "repair", "tags", "proof"),
        *("not_proved", "notes", "engine", "trials", "seconds", "seed", "witness"),
    ),
    Cause: ("kind", "message", "clause", "gold", "predicted", "proved"),
    Repair: ("steps", "query"),
    WitnessTable: ("name", "columns"),
}
"""The fields that are written of these; all fields of every other value."""


def refutation_fields(outcome: Refutation) -> dict[str, object]:
    """The fields of `Refutation`, cells as `assay.model.results.cell_json` writes them."""
    return {name: _plain(getattr(outcome, name)) for name in _WRITTEN[Refutation]}


def _plain(value: object) -> object:
    if isinstance(value, Struct):
        fields = _WRITTEN.get(type(value), value.__struct_fields__)
        found = {name: _plain(getattr(value, name)) for name in fields if name != "rows"}
        if isinstance(value, Result | WitnessTable):
            found["rows"] = [[cell_to_json(cell) for cell in row] for row in value.rows]
        return found
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
