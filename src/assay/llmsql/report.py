"""The report as data and as JSON, and what is printed of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

from assay.errors import InputError
from assay.llmsql.assessment import Assessment, Finding
from assay.llmsql.worker import Shown
from assay.reports.text.plain import cell_text, clipped, interval, one_line, percent, plural, visible

_PLAIN = frozenset({int, str, type(None)})
_PRINTED_ROWS = 5
_PRINTED_QUERY = 2_000


def report_of(assessment: Assessment) -> dict[str, Any]:
    """The report under the benchmark's own keys. Rows are as they came, not sorted."""
    accuracy = assessment.accuracy.value
    return {
        "total": len(assessment.findings),
        "matches": assessment.matches,
        "pred_none": assessment.pred_none,
        "gold_none": assessment.gold_none,
        "sql_errors": assessment.sql_errors,
        "accuracy": accuracy if accuracy is not None else 0,
        "mismatches": [mismatch_of(finding) for finding in assessment.mismatches],
        "timestamp": datetime.now(UTC).isoformat(),
        "input_mode": assessment.outputs.mode,
    }


def mismatch_of(finding: Finding) -> dict[str, Any]:
    """One mismatch under the benchmark's own keys, and below them why queries failed and how many rows there are."""
    gold, predicted = finding.judged.gold, finding.judged.predicted
    return {
        "question_id": finding.output.question_id,
        "question": finding.question.text,
        "gold_sql": finding.question.gold,
        "model_output": finding.output.completion,
        "gold_results": gold.rows if gold else None,
        "prediction_results": predicted.rows if predicted else None,
        "gold_error": gold.error if gold else None,
        "prediction_errors": list(finding.judged.errors),
        "gold_row_count": gold.row_count if gold else None,
        "prediction_row_count": predicted.row_count if predicted else None,
    }


def json_of(report: Mapping[str, Any]) -> str:
    """A report as JSON: bytes as SQLite writes them (``x'00ff'``), infinite numbers and lone surrogates as text."""
    import msgspec

    plain = {**report, "mismatches": [_plain(mismatch) for mismatch in report["mismatches"]]}
    try:
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode("utf-8")
    except (UnicodeEncodeError, OverflowError):  # some text is no text, or an id has a hundred digits: slowly, then
        text = json.dumps(plain, indent=2, ensure_ascii=False)
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
    if isinstance(cell, float) and cell in (float("inf"), float("-inf")):
        return str(cell)
    return cell


def report_path(given: str | Path | None) -> Path:
    """Where the report goes: as given, else a new name in the current folder.

    Raises InputError where it cannot go there, before anything was judged.
    """
    path = Path(given) if given is not None else Path(f"evaluation_results_{uuid4()}.json")
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder: name a file" if path.is_dir() else f"there is no folder {path.parent}: make it first"
        raise InputError(f"{path}: the report cannot be written there, {problem}")
    return path


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write the report as JSON. Raises InputError where that fails."""
    try:
        path.write_text(json_of(report), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written there ({error.strerror or error})") from error


def mismatch_text(finding: Finding) -> str:
    """One mismatch for a reader."""
    judged = finding.judged
    if judged.predicted is not None:
        predicted = _shown_text(judged.predicted)
    elif judged.queries:
        predicted = judged.errors[0]
    else:
        predicted = "there is no SELECT in it"
    parts = [
        ("question", one_line(finding.question.text, limit=_PRINTED_QUERY)),
        ("output", clipped(finding.output.completion.strip(), limit=_PRINTED_QUERY)),
        ("gold", clipped(finding.question.gold.strip(), limit=_PRINTED_QUERY)),
        ("output gives", predicted),
        ("gold gives", _shown_text(judged.gold) if judged.gold is not None else "not known"),
    ]
    lines = [f"mismatch: question {one_line(str(finding.output.question_id))}"]
    for name, text in parts:
        first, *rest = text.split("\n")
        lines += [f"  {name + ':':<14}{first}", *(f"{'':16}{line}" for line in rest)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shown_text(shown: Shown) -> str:
    if shown.rows is None:
        return f"no result: {visible(shown.error or 'unknown')}"
    count = shown.row_count or 0
    rows = "; ".join(", ".join(cell_text(cell).whole for cell in row[:20]) for row in shown.rows[:_PRINTED_ROWS])
    more = f"; and {plural(count - _PRINTED_ROWS, 'row')} more" if count > _PRINTED_ROWS else ""
    return f"{plural(count, 'row')}: {rows}{more}" if count else "no rows"


def summary_text(assessment: Assessment, *, saved: Path | None) -> str:
    """The numbers for a reader."""
    rate = assessment.accuracy
    total = len(assessment.findings)
    failing = [finding for finding in assessment.findings if (gold := finding.judged.gold) and gold.error]
    rows = [
        ("matches", assessment.matches, f"of {plural(total, 'output')}"),
        ("prediction none", assessment.pred_none, "queries of outputs that give one NULL"),
        ("gold none", assessment.gold_none, "gold queries that give one NULL"),
        ("SQL errors", assessment.sql_errors, "queries of outputs that give no result"),
        ("no query", sum(not finding.judged.queries for finding in assessment.findings), "outputs without a SELECT"),
    ]
    lines = [
        f"LLMSQL {assessment.version} · {one_line(assessment.outputs.name)}",
        f"accuracy: {percent(rate.value)} {interval(rate)} ({assessment.matches:,} of {total:,})",
    ]
    if assessment.unanswered:
        what = plural(assessment.unanswered, "question")
        lines.append(f"note: {what} of {assessment.questions:,} got no output and count nowhere")
    if failing:
        example = failing[0].judged.gold
        reason = visible(example.error or "") if example else ""
        lines.append(
            f"note: {plural(len(failing), 'gold query', 'gold queries')} failed, so nothing can match: {reason}"
        )
    lines += ["", "counts", *(f"  {name:<16}{count:>8,}  {what}" for name, count, what in rows)]
    reasons = _reasons(assessment)
    if reasons:
        lines += ["", "why queries failed", *(f"  {count:>8,}  {reason}" for reason, count in reasons)]
    if saved is not None:
        lines += ["", f"report: {saved}"]
    return "\n".join(lines) + "\n"


def _reasons(assessment: Assessment) -> list[tuple[str, int]]:
    """The commonest reasons, without the names that differ from query to query."""
    from collections import Counter

    counted = Counter(
        one_line(error.split(": ", 1)[0] if error.startswith("no such ") else error, limit=100)
        for finding in assessment.findings
        for error in finding.judged.errors
    )
    return counted.most_common(5)


def say(text: str) -> None:
    """Print, with question marks rather than a traceback where standard output is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
