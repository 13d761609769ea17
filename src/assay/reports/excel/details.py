"""The Details sheet: one row per case, the guide's columns first, then ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from assay.model import Evidence, Run
from assay.reports.cases.case import failures, near_misses, repair, retrieval_line, why
from assay.reports.cases.gold_findings import GoldFindings
from assay.reports.cases.witness import sentence, strength_name, witness_text
from assay.reports.excel.columns import IN_SQL, TIMINGS, WorkbookMetrics
from assay.reports.excel.page import Page
from assay.reports.excel.table import Column, fitted, metric_column, repeat_column, review_columns, write_cases
from assay.reports.text.plain import words
from assay.reports.text.results import given_text, golds_text

_LINES = 10
"""How many lines of text a row shows at most; the cell holds the whole text."""
_GOLD_SEPARATOR = "\n-----\n"
"""A line of dashes, which also separates several golds in one cell of an input file."""
_LARGEST_ID = 15  # digits: Excel does not keep more of them exactly
_OTHER_TIMINGS = 20


def write_details(page: Page, run: Run, metrics: WorkbookMetrics, *, titles: Sequence[str] | None = None) -> None:
    """Write every case in the question set's order, with the columns of ``titles`` in that order; None: all columns.

    The last columns are the systems' own times, and the metrics that the guide has no column for.
    """
    timings: dict[str, None] = {}

    def noted() -> Iterator[Evidence]:
        for item in run.evidence:
            timings.update(dict.fromkeys(name for name, _ in item.prediction.timings_s))
            yield item

    columns = fitted(_columns(run, metrics), noted())
    others = [name for name in timings if _plain(name) not in map(_plain, TIMINGS)]
    columns += map(_timing, others[:_OTHER_TIMINGS])
    columns += (metric_column(metrics.titles[name], name, metrics.case_style(name)) for name in metrics.others)
    if titles is not None:
        by_title = {one.title: one for one in columns}
        columns = [by_title[title] for title in titles if title in by_title]
    if metrics.in_sql:
        columns = [replace(one, title=IN_SQL.get(one.title, one.title)) for one in columns]
    write_cases(page, run.evidence, columns, kept=1, lines=_LINES)


def _columns(run: Run, metrics: WorkbookMetrics) -> list[Column]:
    """The guide's columns, then ours."""
    # Denodo's guide has its columns in every workbook; elsewhere those without a value are noise.
    in_sql = metrics.in_sql
    findings = GoldFindings(run)
    return [
        _id_column(run),
        *repeat_column("Repeat", run),
        Column("Difficulty", 12, lambda item: item.case.difficulty, widest=24),
        Column("VQL Generated", 58, _predicted, "sql"),
        Column("Ground Truth VQL", 58, lambda item: _GOLD_SEPARATOR.join(golds_text(item.case)), "sql"),
        *(metric_column(title, name, metrics.case_style(name)) for title, name in metrics.guide if name is not None),
        *(replace(_timing(name), optional=in_sql) for name in TIMINGS),
        Column("Question", 44, lambda item: item.case.question),
        Column("Verdict", 11, lambda item: item.outcome, "text", marks="verdicts"),
        Column("Reason", 44, lambda item: item.verdict.reason),
        # What else is known of a case and its answer.
        Column("Flags", 16, lambda item: ", ".join(map(words, sorted(item.verdict.flags))), optional=in_sql),
        Column("Near misses", 32, lambda item: "\n".join(near_misses(item)), optional=in_sql),
        Column("Failure", 40, lambda item: "\n".join(failures(item)), optional=in_sql),
        Column("Database", 22, lambda item: item.case.database, optional=in_sql),
        Column("Tags", 16, lambda item: ", ".join(item.case.tags), optional=in_sql),
        Column("Explanation", 44, lambda item: item.prediction.explanation, optional=in_sql),
        Column("Tables used", 22, lambda item: "\n".join(item.prediction.tables_used), optional=in_sql),
        *(_tokens(part, optional=in_sql) for part in ("input", "output", "total")),
        # What most runs leave empty.
        Column("Gold query findings", 60, lambda item: "\n".join(findings.of(item.case.id)), optional=True),
        *review_columns(),
        Column("Cause", 28, lambda item: item.cause, optional=True),
        Column("Why", 60, lambda item: "\n".join((*why(item), *repair(item))), optional=True),
        Column("Strength", 16, strength_name, optional=True),
        Column("On other databases", 60, _witness, optional=True),
        Column("Context", 32, lambda item: item.case.context, optional=True),
        Column("Given tables", 22, lambda item: "\n".join(item.prediction.context_tables or ()), optional=True),
        Column("Given columns", 28, lambda item: "\n".join(item.prediction.context_columns or ()), optional=True),
        Column("Retrieval", 36, retrieval_line, optional=True),
        Column("Cost (USD)", 11, lambda item: item.prediction.cost_usd, "money", optional=True),
        Column("Bytes billed", 14, lambda item: item.cost and item.cost.bytes_billed, "count", optional=True),
        Column("VES detail", 36, _ves_detail, optional=True),
    ]


def _id_column(run: Run) -> Column:
    """Ids as numbers if all of them are plain integers, so that they sort as such; else as the text they are."""
    if all(is_plain_integer(case.case_id) for case in run.summaries):
        return Column("Question ID", 11, lambda item: int(item.case.id), "id", widest=28)
    return Column("Question ID", 11, lambda item: item.case.id, "name_wrapped", widest=28)


def is_plain_integer(name: str) -> bool:
    """Whether an id can be written as a number."""
    return name.isascii() and name.isdigit() and len(name) <= _LARGEST_ID and (name == "0" or name[0] != "0")


def _predicted(item: Evidence) -> str | None:
    given = item.prediction.result
    return item.prediction.query if given is None else given_text(given)


def _timing(name: str) -> Column:
    marks = "times" if name == "total_execution_time" else None
    return Column(name, 14, lambda item: item.prediction.timing_s(name), "fine_seconds", marks=marks)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _tokens(part: str, *, optional: bool) -> Column:
    title = f"{part.capitalize()} tokens"
    return Column(title, 10, lambda item: getattr(item.prediction.tokens, part, None), "count", optional=optional)


def _witness(item: Evidence) -> str | None:
    """The result of the counterexample search, with the counterexample if there is one."""
    if item.refutation is None:
        return None
    return sentence(item) if item.refutation.witness is None else witness_text(item.refutation)


def _ves_detail(item: Evidence) -> str | None:
    """What the reward was computed from: the time ratio, and how sure that is."""
    score = item.score("ves")
    return score.detail if score else None
