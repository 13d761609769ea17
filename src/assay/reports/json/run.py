"""The whole run as one JSON document, for programs.

Top level: ``format`` (``assay-report``), ``version``, ``headline``, ``notes`` (sentences
to read before trusting the headline), ``gates`` (what was demanded of the
run; empty where nothing was), ``settings``, ``provenance``, ``aggregates``, ``cases``. Field names are
those of `assay.model`; an absent value is null. A case has ``case``, ``prediction``, ``verdict``,
``scores``, ``cause``; for queries also ``diagnosis`` (every cause, the repair), ``comparison``, ``gold_executions``
and ``predicted_execution``; for SDMX selections ``turns`` instead, with every judged term (docs/formats.md).

Cells of the aligned rows keep their value and type, as `assay.model.cell_json` writes them. Elsewhere a lone surrogate
is written as the six characters ``\\udcff``: every JSON parser must be able to read a report, and many refuse
surrogates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.model import AlignedRow, Evidence, Execution, Run
from assay.model.cell_json import cell_to_json
from assay.reports.views.run_build import view_of

FORMAT_VERSION = 1


class JsonReporter:
    """Writes a run as one JSON document, UTF-8, ending in a line break."""

    name = "json"
    suffix = ".json"

    def render(self, run: Run) -> bytes:
        """The whole report: valid JSON whatever the cells hold, without NaN."""

        view = view_of(run, detailed=())
        document = {
            "format": "assay-report",
            "version": FORMAT_VERSION,
            "title": view.title,
            "headline": {
                "metric": view.headline_metric,
                **_builtins(view.headline.rate),
                "text": f"{view.headline.text} {view.headline.interval}".strip(),
                "tally": view.tally,
            },
            "notes": list(view.notes),
            "gates": [_builtins(result) for result in run.gates],
            "settings": _builtins(run.settings),
            "provenance": _builtins(run.provenance),
            "aggregates": _builtins(run.aggregates),
        }
        case = _case if run.settings.selection is None else _selection_case
        written = bytearray()
        _write(document, written)
        written[-1:] = b',"cases":['
        # Case by case: 10,000 selections of 200 terms would take gigabytes as one tree of dicts.
        for place, item in enumerate(run.evidence):
            if place:
                written += b","
            _write(case(item), written)
        written += b"]}\n"
        return bytes(written)


def document(value: dict[str, object]) -> bytes:
    """A value as a JSON document with a line break at its end."""
    written = bytearray()
    _write(value, written)
    return bytes(written) + b"\n"


def _write(value: dict[str, object], written: bytearray) -> None:
    """Append the value as JSON."""
    import msgspec

    length = len(written)
    try:
        msgspec.json.Encoder().encode_into(value, written, -1)
    except UnicodeEncodeError:
        del written[length:]
        written += msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def case_document(items: Sequence[Evidence]) -> str:
    """The answers to one case as a JSON document of their own, with the fields of ``cases``."""
    cases = [_selection_case(item) if item.turns or item.case.turns else _case(item) for item in items]
    return document({"cases": cases}).decode().rstrip("\n")


def _case(item: Evidence) -> dict[str, object]:
    comparison = None
    if item.comparison is not None:
        comparison = {
            **_fields_but(item.comparison, "aligned"),
            "aligned": [_row(row) for row in item.comparison.aligned],
        }
    return {
        "case": _builtins(item.case),
        "prediction": _builtins(item.prediction),
        # A frozenset has no order: sort it, so that reports of the same run are the same bytes.
        "verdict": {**_builtins(item.verdict), "flags": sorted(item.verdict.flags)},
        "scores": [_builtins(score) for score in item.scores],
        "comparison": comparison,
        "gold_executions": [_execution(execution) for execution in item.gold_executions],
        "predicted_execution": item.predicted_execution and _execution(item.predicted_execution),
        "cause": item.cause,
        "diagnosis": item.diagnosis and _builtins(item.diagnosis),
    }


def _selection_case(item: Evidence) -> dict[str, object]:
    """The values themselves, not dicts of them: msgspec writes them ten times as fast."""
    return {
        "case": item.case,
        "prediction": item.prediction,
        "verdict": {**_builtins(item.verdict), "flags": sorted(item.verdict.flags)},
        "scores": item.scores,
        "turns": item.turns,
        "cause": item.cause,
    }


def _execution(execution: Execution) -> dict[str, object]:
    head = [[cell_to_json(cell) for cell in row] for row in execution.head]
    return {**_fields_but(execution, "result", "head"), "head": head}


def _row(row: AlignedRow) -> dict[str, object]:
    return {
        "state": row.state,
        "gold": None if row.gold is None else [cell_to_json(cell) for cell in row.gold],
        "predicted": None if row.predicted is None else [cell_to_json(cell) for cell in row.predicted],
    }


def _builtins(value: object) -> dict[str, object]:
    import msgspec

    built: dict[str, object] = msgspec.to_builtins(value)
    return built


def _fields_but(value: object, *left_out: str) -> dict[str, object]:
    """The fields of a dataclass except those in ``left_out``."""
    from dataclasses import fields

    import msgspec

    return {
        field.name: msgspec.to_builtins(getattr(value, field.name))
        for field in fields(value)  # type: ignore[arg-type]
        if field.name not in left_out
    }


def _without_surrogates(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case Mapping():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
        case _:
            return value
