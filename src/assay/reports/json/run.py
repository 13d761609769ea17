"""The whole run as one JSON document, for programs.

Top level: ``format`` (``assay-report``), ``version``, ``headline``, ``notes`` (sentences
to read before trusting the headline), ``gates`` (what was demanded of the
run; empty where nothing was), ``settings``, ``provenance``, ``aggregates``, ``lint`` (what was looked at in the golds
themselves, and which cases are doubtful; null where nobody asked for that), ``cases``. Field names are
those of `assay.model`; an absent value is null. A case has ``case``, ``prediction``, ``verdict``,
``scores``, ``cause``, ``diagnosis`` (every cause, the repair), with a lint also ``gold_findings``; for queries also
``comparison``, ``gold_executions``, ``predicted_execution`` and ``refutation`` (what came of looking for a database
that parts a match from gold, with the witness; null where nobody looked); for SDMX selections ``turns`` instead, with
every judged term (docs/reference/json-report.md).

Cells of the aligned rows keep their value and type, as `assay.model.results.cell_json` writes them. Elsewhere a lone
surrogate is written as the six characters ``\\udcff``: every JSON parser must be able to read a report, and many refuse
surrogates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from assay.model import AlignedRow, Cause, Evidence, Execution, Repair, Result, Run
from assay.model.lint import LintReport
from assay.model.results.cell_json import cell_to_json
from assay.model.witness import Refutation, WitnessTable
from assay.reports.blocks.run import RunReport

FORMAT_VERSION = 1
_PIECE = 1 << 20
_FINDING = ("rule", "severity", "gold", "evidence", "remedy", "line", "column", "end_line", "end_column", "excerpt")


class JsonReporter:
    """Writes a run as one JSON document, UTF-8, ending in a line break."""

    name = "json"
    suffix = ".json"

    def render(self, run: Run) -> bytes:
        """The whole report: valid JSON whatever the cells hold, without NaN."""
        return b"".join(self.pieces(run))

    def pieces(self, run: Run) -> Iterator[bytes]:
        """The whole report, case by case: that of 100,000 cases has hundreds of megabytes."""
        report = RunReport(run)
        findings = _by_case(run)
        document = {
            "format": "assay-report",
            "version": FORMAT_VERSION,
            "title": report.title,
            "headline": {
                "metric": report.headline_metric,
                **_builtins(report.headline.rate),
                "text": f"{report.headline.text} {report.headline.interval}".strip(),
                "tally": report.tally,
            },
            "notes": list(report.notes),
            "gates": [_builtins(result) for result in run.gates],
            "settings": _builtins(run.settings),
            "provenance": _builtins(run.provenance),
            "aggregates": _builtins(run.aggregates),
            "lint": None if run.lint is None else _lint(run.lint),
        }
        case = _case if run.settings.selection is None else _selection_case
        written = bytearray()
        _write(document, written)
        written[-1:] = b',"cases":['
        for place, item in enumerate(run.evidence):
            if place:
                written += b","
            told = case(item)
            if run.lint is not None:
                told["gold_findings"] = findings.get(item.case.id, ())
            _write(told, written)
            if len(written) >= _PIECE:
                yield bytes(written)
                written.clear()
        written += b"]}\n"
        yield bytes(written)


def _by_case(run: Run) -> Mapping[str, list[object]]:
    """The findings about each case's gold, without what the case says itself."""
    found: dict[str, list[object]] = {}
    for one in run.lint.findings if run.lint is not None else ():
        told = _builtins(one)
        found.setdefault(one.case_id, []).append({name: told[name] for name in _FINDING})
    return found


def _lint(lint: LintReport) -> dict[str, object]:
    """What the lint looked at; its findings stand with their cases."""
    return {
        "golds": lint.golds,
        "rules": lint.rules,
        "findings": len(lint.findings),
        "doubtful": sorted(lint.doubtful()),
        "ignored": lint.ignored,
        "gaps": [_builtins(gap) for gap in lint.gaps],
        "notes": lint.notes,
    }


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


def pair_document(item: Evidence) -> bytes:
    """One judged pair of queries: ``format`` (``assay-pair``), ``version``, and the fields of a case in a report."""
    return document({"format": "assay-pair", "version": 1, **_case(item)})


def _case(item: Evidence) -> dict[str, object]:
    """The values themselves wherever that is possible, not dicts of them: msgspec writes them ten times as fast."""
    comparison = item.comparison
    predicted = item.predicted_execution
    return {
        "case": item.case,
        "prediction": item.prediction,
        "verdict": _verdict(item),
        "scores": [_moved(score, "failure", score.failure) for score in item.scores],
        "comparison": comparison and _moved(comparison, "aligned", [_row(row) for row in comparison.aligned]),
        "gold_executions": [_execution(execution) for execution in item.gold_executions],
        "predicted_execution": predicted and _execution(predicted),
        "cause": item.cause,
        "diagnosis": item.diagnosis and _builtins(item.diagnosis),
        "refutation": item.refutation and refutation_fields(item.refutation),
    }


def _selection_case(item: Evidence) -> dict[str, object]:
    return {
        "case": item.case,
        "prediction": item.prediction,
        "verdict": _verdict(item),
        "scores": [_moved(score, "failure", score.failure) for score in item.scores],
        "turns": item.turns,
        "cause": item.cause,
        "diagnosis": item.diagnosis and _builtins(item.diagnosis),
    }


def _verdict(item: Evidence) -> dict[str, object]:
    # A frozenset has no order: sort it, so that reports of the same run are the same bytes.
    verdict = item.verdict
    fields = {name: getattr(verdict, name) for name in verdict.__struct_fields__}
    return {**fields, "flags": sorted(verdict.flags)}


def _execution(execution: Execution) -> object:
    head = [[cell_to_json(cell) for cell in row] for row in execution.head] if execution.head else ()
    return _moved(execution, "head", head, without="result")


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


def _moved(value: object, name: str, written: object, *, without: str = "") -> object:
    """A Struct as it is written, with the field ``name`` as its last, and without one field."""
    kind: Any = type(value)
    made, get = _shape(kind, name, without)
    return made(*get(value), written)


@cache
def _shape(
    kind: type[Any], last: str, without: str
) -> tuple[Callable[..., object], Callable[[object], Iterable[object]]]:
    """What makes the record of such a Struct, and what gets the values of all its fields but the last."""
    import msgspec

    names = [name for name in kind.__struct_fields__ if name not in (last, without)]
    return msgspec.defstruct(kind.__name__, [*names, last], gc=False), attrgetter(*names)


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
