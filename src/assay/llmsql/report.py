"""The benchmark's report: as data, as JSON, and as printed text."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from assay.errors import InputError
from assay.llmsql.findings import Assessment, Finding
from assay.llmsql.query_result import QueryResult
from assay.model import Row
from assay.reports.text.plain import cell_text, clipped, interval, one_line, percent, plural, visible

_PLAIN = frozenset({int, str, type(None)})
_PRINTED_ROWS = 5
_PRINTED_QUERY = 2_000


def report_of(assessment: Assessment) -> dict[str, Any]:
    """The report under the benchmark's own keys."""
    accuracy = assessment.accuracy.value
    return {
        "total": assessment.total,
        "matches": assessment.matches,
        "pred_none": assessment.pred_none,
        "gold_none": assessment.gold_none,
        "sql_errors": assessment.sql_errors,
        "accuracy": accuracy if accuracy is not None else 0,
        "mismatches": [mismatch_of(finding) for finding in assessment.mismatches],
        "timestamp": datetime.now(UTC).isoformat(),
        "input_mode": assessment.mode,
    }


def mismatch_of(finding: Finding) -> dict[str, Any]:
    """One mismatch under the benchmark's own keys, then the errors of its queries and the row counts."""
    gold, predicted = finding.gold, next(reversed(finding.results), None)
    return {
        "question_id": finding.question_id,
        "question": finding.question,
        "gold_sql": finding.gold_query,
        "model_output": finding.completion,
        "gold_results": _rows_of(gold),
        "prediction_results": _rows_of(predicted),
        "gold_error": None if gold is None else gold.error,
        "prediction_errors": list(finding.errors),
        "gold_row_count": None if gold is None else gold.row_count,
        "prediction_row_count": None if predicted is None else predicted.row_count,
    }


def _rows_of(result: QueryResult | None) -> list[Row] | None:
    """The stored rows of a result; None if there is no result.

    Sorted, as in the package, if all rows are stored and can be sorted; otherwise in their original order.
    """
    if result is None or result.error is not None:
        return None
    rows = list(result.head)
    try:
        return sorted(rows) if len(rows) == result.row_count else rows
    except TypeError:
        return rows


def json_of(report: Mapping[str, Any]) -> str:
    """A report as JSON, as Python's own module writes it; values that the module cannot write become text.

    Bytes are as SQLite writes them (``x'00ff'``), infinite numbers and lone surrogates as Python does.
    """
    plain = {**report, "mismatches": [_plain(mismatch) for mismatch in report["mismatches"]]}
    try:
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode("utf-8")
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or an id of a hundred digits: write it the slow way
        text = json.dumps(plain, indent=2, ensure_ascii=False, default=lambda raw: float(bytes(raw)))
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(mismatch: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(mismatch)
    for key in ("gold_results", "prediction_results"):
        rows = mismatch[key]
        if rows and not _PLAIN.issuperset(map(type, chain.from_iterable(rows))):
            changed[key] = [[_plain_cell(cell) for cell in row] for row in rows]
    return changed


def _plain_cell(cell: object) -> object:
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, float) and not isfinite(cell):
        return str(cell)
    if isinstance(cell, float) and "e" in (text := repr(cell)):
        return msgspec.Raw(text.encode())  # 1e-05 in Python, 1e-5 from msgspec
    return cell


def report_path(given: str | Path | None) -> Path:
    """The path of the report: as given, otherwise a new name in the current folder.

    Raises InputError, before anything is evaluated, if the report cannot be written there.
    """
    path = Path(given) if given is not None else Path(f"evaluation_results_{uuid4()}.json")
    if path.is_dir() or not path.parent.is_dir():
        problem = (
            "it is a folder: use the path of a file"
            if path.is_dir()
            else f"the folder {path.parent} does not exist: create it first"
        )
        raise InputError(f"{path}: cannot write the report: {problem}")
    return path


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write the report as JSON. Raises InputError if that fails."""
    try:
        path.write_text(json_of(report), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot write the report ({error.strerror or error})") from error


def mismatch_text(finding: Finding) -> str:
    """One mismatch for a reader."""
    if finding.results:
        predicted = _shown_text(finding.results[-1])
    else:
        predicted = next(iter(finding.errors), "the output has no SELECT")
    parts = [
        ("question", one_line(finding.question, limit=_PRINTED_QUERY)),
        ("output", clipped((finding.completion or "").strip(), limit=_PRINTED_QUERY)),
        ("gold", clipped(finding.gold_query.strip(), limit=_PRINTED_QUERY)),
        ("output gives", predicted),
        ("gold gives", _shown_text(finding.gold) if finding.gold is not None else "not known"),
    ]
    lines = [f"mismatch: question {one_line(str(finding.question_id))}"]
    for name, text in parts:
        first, *rest = text.split("\n")
        lines += [f"  {name + ':':<14}{first}", *(f"{'':16}{line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shown_text(result: QueryResult) -> str:
    if result.error is not None:
        return f"no result: {visible(result.error)}"
    count = result.row_count or 0
    rows = "; ".join(", ".join(cell_text(cell).whole for cell in row[:20]) for row in result.head[:_PRINTED_ROWS])
    more = f"; and {plural(count - _PRINTED_ROWS, 'row')} more" if count > _PRINTED_ROWS else ""
    return f"{plural(count, 'row')}: {rows}{more}" if count else "no rows"


def summary_text(assessment: Assessment, *, saved: Path | None) -> str:
    """The numbers for a reader."""
    rate = assessment.accuracy
    total = assessment.total
    failing = list(assessment.gold_errors())
    rows = [
        ("matches", assessment.matches, f"of {plural(total, 'output')}"),
        ("prediction none", assessment.pred_none, "queries of outputs that return one NULL"),
        ("gold none", assessment.gold_none, "gold queries that return one NULL"),
        ("SQL errors", assessment.sql_errors, "queries of outputs without a result"),
        (
            "no query",
            assessment.without_query,
            "outputs without a SELECT",
        ),
    ]
    lines = [
        f"LLMSQL {assessment.version} · {one_line(assessment.outputs.name)}",
        f"accuracy: {percent(rate.value)} {interval(rate)} ({assessment.matches:,} of {total:,})",
    ]
    if assessment.unanswered:
        what = plural(assessment.unanswered, "question")
        lines.append(f"note: {what} of {assessment.questions:,} have no output and are not counted")
    if failing:
        what = plural(len(failing), "gold query", "gold queries")
        lines.append(f"note: {what} failed, so nothing can match: {visible(failing[0])}")
    lines += ["", "counts", *(f"  {name:<16}{count:>8,}  {what}" for name, count, what in rows)]
    reasons = _reasons(assessment)
    if reasons:
        lines += ["", "why queries failed", *(f"  {count:>8,}  {reason}" for reason, count in reasons)]
    if saved is not None:
        lines += ["", f"report: {saved}"]
    return "\n".join(lines) + "\n"


def _reasons(assessment: Assessment) -> list[tuple[str, int]]:
    """The most frequent errors, without the names that differ between queries."""
    from collections import Counter

    counted = Counter(
        one_line(error.split(": ", 1)[0] if error.startswith("no such ") else error, limit=100)
        for error in assessment.errors
    )
    return counted.most_common(5)


def say(text: str) -> None:
    """Print, with question marks instead of a traceback if standard output is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
