"""What every report must hold, tried on runs that contain what is hard to draw."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree

from msgspec import Struct, field

from assay.model import (
    Aggregates,
    Case,
    Comparison,
    Evidence,
    Execution,
    Failure,
    Group,
    Limits,
    MetricInfo,
    MetricSummary,
    Prediction,
    Provenance,
    Rate,
    Run,
    RunSettings,
    Score,
    Verdict,
)
from assay.model.verdicts.summary import summarized
from assay.ports import Reporter, StreamingReporter
from assay.testing.conformance.checks import Check, Gap, checks, named, without_error

_HOSTILE = (
    "<script>alert(1)</script> & \"quotes\" 'and' </td>",
    '=HYPERLINK("http://127.0.0.1/";"x")',
    "| pipes | `code` | *stars*\nand a second line\r\nand a third",
    "\x00\x07\x1b[31mred\x1b[0m ]]> --> ${{ x }} {{ 7 * 7 }} {% raw %}",
    "Ü 😀 \u202e אב \udcff",
    "",
    "a long text " * 4000,
)
"""What questions, queries and messages may hold."""
_METRICS = ("match", "row_gap")
_MARKUP = (".html", ".htm", ".xhtml", ".xml", ".svg", ".md")
_TABLES = {".csv": ",", ".tsv": "\t"}


class ReportAdapter(Struct, frozen=True, kw_only=True):
    """One report format: its class, and runs of your own to draw with the kit's (`assay.load_run(...).record`)."""

    reporter: Callable[[], Reporter]
    runs: Sequence[Run] = ()
    lists_cases: bool = False
    """Whether it is a text in which the id of each case stands as it is."""
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""


def sample_run() -> Run:
    """A run whose texts are hostile, with right, wrong, unscored and unanswered cases."""
    evidence = tuple(_evidence(number, text) for number, text in enumerate(_HOSTILE))
    outcomes = [item.outcome for item in evidence]
    scored = [item for item in evidence if item.outcome != "unscored"]
    right = float(outcomes.count("correct"))
    rates = [
        _rate(right, len(scored), len(evidence) - len(scored)),
        Rate(n=len(scored), numerator=9.0, unscored=0, value=9.0 / len(scored), low=None, high=None),
    ]
    metrics = tuple(MetricSummary(metric=name, rate=rate) for name, rate in zip(_METRICS, rates, strict=True))
    return _run(
        evidence,
        Aggregates(
            cases=len(evidence),
            correct=outcomes.count("correct"),
            incorrect=outcomes.count("incorrect"),
            unscored=outcomes.count("unscored"),
            unanswered=1,
            overall=Group(kind="all", name=None, cases=len(evidence), metrics=metrics),
            by_difficulty=(Group(kind="difficulty", name=_HOSTILE[0], cases=len(evidence), metrics=metrics),),
            by_database=(),
            by_tag=(),
            disagreements=(),
            flags=(),
            near_misses=(),
            failures=(),
        ),
    )


def unscored_run() -> Run:
    """A run of one case that nothing can be said of: no rate has a value."""
    failure = Failure(stage="execute", kind="error", blame="gold", message="no such table: customers")
    evidence = Evidence(
        case=Case(id="only", question="How many?", golds=("SELECT 1",)),
        prediction=Prediction(case_id="only", query="SELECT 1"),
        verdict=Verdict(outcome="unscored", reason="the gold query fails: no such table: customers", failure=failure),
        scores=tuple(Score(metric=name, value=None, failure=failure) for name in _METRICS),
    )
    metrics = tuple(MetricSummary(metric=name, rate=_rate(0.0, 0, 1)) for name in _METRICS)
    return _run(
        (evidence,),
        Aggregates(
            cases=1,
            correct=0,
            incorrect=0,
            unscored=1,
            unanswered=0,
            overall=Group(kind="all", name=None, cases=1, metrics=metrics),
            by_difficulty=(),
            by_database=(),
            by_tag=(),
            disagreements=(),
            flags=(),
            near_misses=(),
            failures=(),
        ),
    )


def _rate(numerator: float, n: int, unscored: int) -> Rate:
    value = numerator / n if n else None
    return Rate(n=n, numerator=numerator, unscored=unscored, value=value, low=None, high=None)


def _evidence(number: int, text: str) -> Evidence:
    """A case of each outcome in turn, with this text wherever a stranger's text may stand."""
    outcome = ("correct", "incorrect", "unscored")[number % 3]
    silent = number == 1
    blame = "gold" if outcome == "unscored" else "system"
    failure = Failure(stage="execute", kind="error", blame=blame, message=text.split("\n", 1)[0] or "blank")  # type: ignore[arg-type]
    query = None if silent else f"SELECT '{text}'"
    value = {"correct": 1.0, "incorrect": 0.0, "unscored": None}[outcome]
    return Evidence(
        case=Case(id=f"case-{number}", question=text, database=text or None, golds=(f"SELECT '{text}' AS gold",)),
        prediction=Prediction(
            case_id=f"case-{number}", query=query, explanation=text, failure=failure if silent else None
        ),
        verdict=Verdict(
            outcome=outcome,  # type: ignore[arg-type] # one of the three
            reason=text or "equal",
            flags=frozenset({"vacuous"}) if number == 0 else frozenset(),
            gold_index=0,
            failure=failure if outcome == "unscored" else None,
        ),
        scores=(
            Score(metric="match", value=value, failure=failure if value is None else None),
            Score(metric="row_gap", value=9.0 if number == 1 else 0.0),
        ),
        comparison=Comparison(equal=outcome == "correct", reason=text) if outcome != "unscored" else None,
        gold_executions=(Execution(query=f"SELECT '{text}' AS gold", status="rows", row_count=1, columns=(text,)),),
        predicted_execution=None if query is None else Execution(query=query, status="empty", row_count=0),
        cause=text or None,
    )


def _run(evidence: tuple[Evidence, ...], aggregates: Aggregates) -> Run:
    infos = (
        MetricInfo(name="match", label="Accuracy", binary=True, lowest=0.0, highest=1.0),
        MetricInfo(name="row_gap", label=_HOSTILE[0], meaning=_HOSTILE[1], higher_is_better=False),
    )
    settings = RunSettings(
        cases="cases.jsonl",
        predictions="predictions.jsonl",
        database="sqlite:///shop.sqlite",
        metrics=_METRICS,
        limits=Limits(),
        metric_infos=infos,
    )
    provenance = Provenance(
        assay_version="0.1.0", python_version="3.11.0", platform="Linux", started_at="2026-03-01T09:30:00Z"
    )
    return Run(
        settings=settings,
        provenance=provenance,
        summaries=tuple(map(summarized, evidence)),
        evidence=evidence,
        aggregates=aggregates,
    )


def _runs(adapter: ReportAdapter) -> dict[str, Run]:
    own = {f"your run {number}": run for number, run in enumerate(adapter.runs, 1)}
    return {"a run of hostile texts": sample_run(), "a run without a scored case": unscored_run(), **own}


def _drawn(reporter: Reporter, what: str, run: Run) -> bytes:
    found: object = without_error(what, lambda: reporter.render(run))
    assert isinstance(found, bytes), f"{what}: gave {type(found).__name__} where bytes belong"
    return found


def it_says_what_it_is(adapter: ReportAdapter) -> None:
    """It has a name for ``--report``, and the suffix of its files."""
    reporter = adapter.reporter()
    named(reporter)
    suffix = getattr(reporter, "suffix", None)
    good = isinstance(suffix, str) and suffix.startswith(".") and len(suffix) > 1 and "/" not in suffix
    assert good, f"its suffix is {suffix!r}: write for example '.txt'"


def every_run_is_drawn(adapter: ReportAdapter) -> None:
    """Every run becomes bytes: with texts of any kind, and without a single value."""
    for what, run in _runs(adapter).items():
        assert _drawn(adapter.reporter(), what, run), f"{what}: the report is empty"


def the_same_run_is_the_same_report(adapter: ReportAdapter) -> None:
    """A run is drawn the same each time, so that two reports can be compared."""
    reporter = adapter.reporter()
    for what, run in _runs(adapter).items():
        first = _drawn(reporter, what, run)
        assert _drawn(reporter, what, run) == first, f"{what}: drawn again it is another report"
        assert _drawn(adapter.reporter(), what, run) == first, f"{what}: a new instance draws another report"


def pieces_make_the_whole(adapter: ReportAdapter) -> None:
    """A report that is made piece by piece is the one that is made at once."""
    reporter = adapter.reporter()
    if not isinstance(reporter, StreamingReporter):
        return
    for what, run in _runs(adapter).items():
        found = without_error(f"{what}, in pieces", lambda run=run: list(reporter.pieces(run)))  # type: ignore[misc]
        strange = [type(piece).__name__ for piece in found if not isinstance(piece, bytes)]
        assert not strange, f"{what}: a piece is {strange[0]} where bytes belong"
        assert b"".join(found) == _drawn(reporter, what, run), f"{what}: the pieces are not what render() gives"


def every_case_is_there(adapter: ReportAdapter) -> None:
    """A report that lists cases lists all of them, the unscored and the unanswered, too."""
    if not adapter.lists_cases:
        return
    for what, run in _runs(adapter).items():
        text = _drawn(adapter.reporter(), what, run).decode("utf-8", "replace")
        absent = [item.case.id for item in run.evidence if item.case.id not in text]
        assert not absent, (
            f"{what}: {len(absent)} of its {len(run.evidence)} cases are missing, for example {absent[0]}"
        )


def strangers_texts_stay_texts(adapter: ReportAdapter) -> None:
    """By its suffix: markup shows no element that a question brought along, a spreadsheet no formula, JSON parses."""
    reporter = adapter.reporter()
    suffix = reporter.suffix.lower()
    for what, run in _runs(adapter).items():
        drawn = _drawn(reporter, what, run)
        if suffix in _MARKUP:
            assert _HOSTILE[0].split(" ")[0].encode() not in drawn, (
                f"{what}: a question's <script> is markup: escape it"
            )
        if suffix in (".xml", ".svg"):
            without_error(f"{what}, read as XML", lambda drawn=drawn: ElementTree.fromstring(drawn))  # type: ignore[misc]
        elif suffix == ".json":
            without_error(f"{what}, read as JSON", lambda drawn=drawn: json.loads(drawn))  # type: ignore[misc]
        elif suffix in _TABLES:
            text = without_error(f"{what}, read as UTF-8", lambda drawn=drawn: drawn.decode())  # type: ignore[misc]
            cells = (cell for row in csv.reader(io.StringIO(text), delimiter=_TABLES[suffix]) for cell in row)
            formula = next((cell for cell in cells if cell.startswith("=")), None)
            assert formula is None, f"{what}: a spreadsheet runs the cell {formula!r}: write a ' before it"


REPORT_CHECKS: tuple[Check[ReportAdapter], ...] = checks(
    it_says_what_it_is,
    every_run_is_drawn,
    the_same_run_is_the_same_report,
    pieces_make_the_whole,
    every_case_is_there,
    strangers_texts_stay_texts,
)
"""Every check of a report, in the order in which to read them."""
