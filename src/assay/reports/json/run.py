"""The whole run as one JSON document, for programs.

Top level: ``format`` (``assay-report``), ``version``, ``headline``, ``notes`` (sentences
to read before trusting the headline), ``gates`` (what was demanded of the
run; empty without gates), ``settings``, ``provenance``, ``aggregates``, ``lint`` (what was checked in the gold queries,
and which cases are doubtful; null without a lint), ``cases``. Field names are
those of `assay.model`; an absent value is null. A case has ``case``, ``prediction``, ``verdict``,
``scores``, ``cause``, ``diagnosis`` (every cause, the repair), with a lint also ``gold_findings``; for queries also
``comparison``, ``gold_executions``, ``predicted_execution`` and ``refutation`` (result of the search for a
counterexample to a match, with the witness; null if it was not run) and ``reviewed`` (people's verdict, in addition to
Assay's own; null without a review; ``headline.reviewed`` is the accuracy by these); for SDMX selections ``turns`` in
place of these, with every scored term (`assay docs json-report`).

Cells of the aligned rows keep their value and type, as `assay.model.results.cell_json` writes them. Elsewhere a lone
surrogate is written as the six characters ``\\udcff``: every JSON parser must be able to read a report, and many refuse
surrogates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import asdict, fields

from assay.model import (
    AlignedRow,
    Case,
    Cause,
    Comparison,
    Diagnosis,
    Evidence,
    Execution,
    Prediction,
    Repair,
    Result,
    Reviewed,
    Run,
    Score,
    Verdict,
)
from assay.model.cases.selection import TurnScore
from assay.model.lint import LintReport
from assay.model.results.cell_json import cell_to_json
from assay.model.witness import Refutation, WitnessTable
from assay.reports.blocks.run import RunReport
from assay.runs.store.codec import decode_evidence, encode_evidence, packed_line
from assay.runs.store.journal import lines_of

FORMAT_VERSION = 1
_ENCODER = msgspec.json.Encoder()
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
                "reviewed": None if run.aggregates.reviews is None else _builtins(run.aggregates.reviews.after),
            },
            "notes": list(report.notes),
            "gates": [_builtins(result) for result in run.gates],
            "settings": _builtins(run.settings),
            "provenance": _builtins(run.provenance),
            "aggregates": _builtins(run.aggregates),
            "lint": None if run.lint is None else _lint(run.lint),
        }
        of_selections = run.settings.selection is not None
        written = bytearray()
        _write(document, written)
        written[-1:] = b',"cases":['
        for place, line in enumerate(lines_of(run.evidence)):
            if place:
                written += b","
            case = _case(line, of_selections=of_selections)
            if run.lint is not None:
                case.gold_findings = findings.get(case.case.id, ())
            _ENCODER.encode_into(case, written, -1)
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


def _write(value: Mapping[str, object], written: bytearray) -> None:
    """Append the value as JSON."""
    length = len(written)
    try:
        _ENCODER.encode_into(value, written, -1)
    except UnicodeEncodeError:
        del written[length:]
        written += msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def case_document(items: Sequence[Evidence]) -> str:
    """The answers to one case as a JSON document of their own, with the fields of ``cases``."""
    cases = [_case(encode_evidence(item), of_selections=bool(item.turns or item.case.turns)) for item in items]
    return document({"cases": cases}).decode().rstrip("\n")


def pair_document(item: Evidence) -> bytes:
    """One scored pair of queries: ``format`` (``assay-pair``), ``version``, and the fields of a case in a report."""
    case = asdict(_case(encode_evidence(item), of_selections=False))
    told = {name: value for name, value in case.items() if value is not UNSET}
    return document({"format": "assay-pair", "version": 1, **told})


def _form(kind: type[Struct], *, last: str = "", without: str = "", **types: object) -> Any:
    """A class with the fields of a Struct as a report has them: all are written, also those with their defaults."""
    given = sorted((one for one in fields(kind) if one.name != without), key=lambda one: one.name == last)
    shaped = [(one.name, types.get(one.name, one.type), one.default) for one in given]
    return defstruct(
        kind.__name__,
        [(name, type_) if default is NODEFAULT else (name, type_, default) for name, type_, default in shaped],
        kw_only=True,
        gc=False,
    )


class _Packed(Struct, kw_only=True, gc=False):
    """A cell that JSON cannot hold as it is, as `assay.model.results.cell_json` writes it."""

    type: str
    text: str | UnsetType = UNSET
    hex: str | UnsetType = UNSET
    utf8_surrogatepass_hex: str | UnsetType = UNSET
    days: int | UnsetType = UNSET
    seconds: int | UnsetType = UNSET
    microseconds: int | UnsetType = UNSET
    items: list[_Cell] | UnsetType = UNSET
    entries: list[tuple[_Cell, _Cell]] | UnsetType = UNSET


_SAFE = 2**53 - 1
_Cell: TypeAlias = Annotated[int, Meta(ge=-_SAFE, le=_SAFE)] | str | float | bool | _Packed | None
_Cells: TypeAlias = list[_Cell]
_Score: Any = _form(Score, last="failure")
_Execution: Any = _form(Execution, last="head", without="result", head=tuple[_Cells, ...])
_Row: Any = _form(AlignedRow, gold=_Cells | None, predicted=_Cells | None)
_EVIDENCE: Mapping[str, Any] = {
    "case": Case,
    "prediction": Prediction,
    "verdict": _form(Verdict, flags=tuple[str, ...]),
    "scores": tuple[_Score, ...],
    "comparison": _form(Comparison, last="aligned", aligned=tuple[_Row, ...]) | None,
    "gold_executions": tuple[_Execution, ...],
    "predicted_execution": _Execution | None,
    "turns": tuple[TurnScore, ...],
    "cause": str | None,
    "diagnosis": Diagnosis | None,
    "refutation": Any,
    "reviewed": _form(Reviewed) | None,
    "gold_findings": Any,
}
"""The parts of a case in a report, by the fields of `Evidence`."""
_DEFAULTS: Mapping[str, object] = {"scores": (), "gold_executions": (), "turns": (), "gold_findings": UNSET}


def _decoder(*names: str) -> Callable[[bytes], Any]:
    """What decodes the parts of a case from a line of the journal."""
    parts = [(name, _EVIDENCE[name], _DEFAULTS.get(name)) for name in (*names, "gold_findings")]
    required, optional = [part[:2] for part in parts[:3]], parts[3:]
    return msgspec.json.Decoder(defstruct("Case", [*required, *optional], gc=False)).decode


_QUERIES = _decoder(
    *("case", "prediction", "verdict", "scores", "comparison", "gold_executions", "predicted_execution"),
    *("cause", "diagnosis", "refutation", "reviewed"),
)
_SELECTIONS = _decoder("case", "prediction", "verdict", "scores", "turns", "cause", "diagnosis", "reviewed")


def _case(line: bytes, *, of_selections: bool) -> Any:
    """A case as a report has it, from its line: no object of the model is made for what is only written again."""
    decode = _SELECTIONS if of_selections else _QUERIES
    try:
        case = decode(line)
    except msgspec.ValidationError:  # such as an integer that other programs would round
        case = decode(packed_line(line))
    if len(case.verdict.flags) > 1:  # so that reports of the same run are the same bytes
        case.verdict.flags = sorted(case.verdict.flags)
    if not of_selections and (found := case.refutation and decode_evidence(line).refutation):
        case.refutation = refutation_fields(found)
    return case


def _builtins(value: object) -> dict[str, object]:
    built: dict[str, object] = msgspec.to_builtins(value)
    return built


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
            found["rows"] = [list(map(cell_to_json, row)) for row in value.rows]
        return found
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
