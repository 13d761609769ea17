"""What to read before trusting the numbers of a run, and the facts about how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model import CaseSummary, Group, Joining, Limits, Run, UsageTotals
from assay.platform.surface import option
from assay.reports.blocks import reliability, repeats, reviews, strengths
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.unscored import unscored_notes
from assay.reports.text.plain import billed, one_line, plural, seconds, visible

_NEAR = 0.5
"""From this share of its time limit on, a gold query is near it."""
_NAMED = 5


def notes(report: RunNumbers) -> Iterable[str]:
    """Every note, each a sentence or two, the most important first."""
    numbers = report.numbers
    noun, asking = ("answer", "asking") if report.asked > 1 else ("case", "case")
    gold = "target" if report.of_selections else "gold query"
    yield from unscored_notes(report.collected.unscored, noun=noun, gold=gold)
    if numbers.witnesses is not None:
        yield strengths.said(numbers.witnesses)
    yield from _flagged(report)
    without = "" if numbers.sound is None else _over_the_others(report, numbers.sound, bounded=True)
    yield from report.findings.notes(without)
    if (none := numbers.unanswered) and not report.collected.unscored.nothing:
        wrong = report.collected.wrong_unanswered
        # An unanswered case is excluded if its gold query fails, too, or if the network kept it from being asked.
        which = " and" if wrong == none else f"; {wrong:,} of them"
        query = "selection" if report.of_selections else "query"
        said = f"{which} {'counts' if wrong == 1 else 'count'} as incorrect" if wrong else ""
        yield f"{plural(none, asking)} {_is(none)} unanswered (no predicted {query}){said}."
    if not report.run.settings.diagnose and any(case.outcome == "incorrect" for case in report.run.summaries):
        yield "The causes of incorrect predictions were not computed."
    yield from _lenient(report)
    yield from _by_chance(report)
    if numbers.reviews is not None:
        yield from reviews.said(numbers.reviews)
    if numbers.reliability is not None:
        yield from reliability.said(numbers.reliability, report.run.settings.penalties)
    if numbers.repeats is not None:
        yield repeats.said(numbers.repeats, numbers.cases)
    yield from _selections(report)
    yield from _extracted(report)
    yield from slow_golds(report.run.summaries, report.run.settings.limits)
    yield from _joining(report.run.provenance.joining)
    yield from _provenance(report)


def _by_chance(report: RunNumbers) -> Iterable[str]:
    """How many matches are due to chance: an order or a choice of rows that the prediction does not determine."""
    flags = ("order_by_chance", "tie_by_chance", "storage_order")
    found = sum(bool(case.outcome == "correct" and set(flags) & set(case.flags)) for case in report.run.summaries)
    if found:
        yield (
            f"{plural(found, 'match', 'matches')} may be by chance: the prediction does not determine the order or the "
            "choice of rows."
        )


def _lenient(report: RunNumbers) -> Iterable[str]:
    """How many cases declare a leniency of their own, and how many are right only by a leniency."""
    declaring, needing = len(report.collected.declaring), report.flagged("lenient")
    if declaring:
        verb = "declares a leniency of its own" if declaring == 1 else "declare a leniency of their own"
        yield f"{plural(declaring, 'case')} {verb}."
    if needing:
        they = "it" if needing == 1 else "they"
        yield f"{plural(needing, 'case')} {_is(needing)} right only by leniency: strictly, {they} would be wrong."


def _flagged(report: RunNumbers) -> Iterable[str]:
    """What the flags of cases say about all of them, with the accuracy over the others."""
    if vacuous := report.flagged("vacuous"):
        others = report.figure(report.numbers.overall, "non_empty_match")
        them = "it" if vacuous == 1 else "them"
        rest = f": without {them}, accuracy is {others.text}" if others.rate.n else ""
        yield f"{plural(vacuous, 'match', 'matches')} over an empty input {_proves(vacuous)} little{rest}."
    if report.numbers.determined is not None:
        all_tie = len(report.collected.all_tie)
        wide = f"; in {all_tie:,}, all rows tie and a match says almost nothing" if all_tie else ""
        rest = _over_the_others(report, report.numbers.determined)
        count = len(report.collected.ambiguous)
        golds = plural(count, "gold query", "gold queries")
        yield f"{golds} {'takes' if count == 1 else 'take'} some of the tied rows{wide}.{rest}"


def _extracted(report: RunNumbers) -> Iterable[str]:
    """How many predictions are texts that contain a statement."""
    if extracted := report.flagged("extracted"):
        contain = "contains" if extracted == 1 else "contain"
        yield (
            f"{plural(extracted, 'prediction')} {_is(extracted)} not a statement but {contain} one, which was "
            "evaluated by every metric (flag extracted). --no-extract evaluates each text as it came, as the "
            "benchmarks' scripts do."
        )
    if several := report.flagged("several_statements"):
        yield (
            f"{plural(several, 'prediction')} {'contains' if several == 1 else 'contain'} several statements in code "
            "fences or tags: the last one was evaluated (flag several_statements)."
        )


def _over_the_others(report: RunNumbers, others: Group, *, bounded: bool = False) -> str:
    """The headline over some of the cases, as a sentence, ``bounded`` with its interval; empty if none counts."""
    without, info = report.figure(others, report.leading), report.headline_info
    if not without.rate.n or not report.headline.rate.numerator:  # 0 without them as with them says nothing
        return ""
    what = info.heading.lower() or one_line(info.title, limit=80)
    bounds = f" {without.interval}" if bounded and without.interval else ""
    return f" Without these, {what} is {without.text}{bounds} ({without.tally})."


def _selections(report: RunNumbers) -> Iterable[str]:
    """How the terms of selections were matched."""
    settings, totals = report.run.settings.selection, report.numbers.selection
    if settings is None or totals is None:
        return
    found = report.collected.terms
    turn = "turn" if totals.by_turn else "case"
    if settings.match_on == "id":
        yield "Terms were compared by their codes alone, as asked for: names did not count."
    elif totals.compared_by_id_only:
        yield (
            f"In {plural(totals.compared_by_id_only, turn)} some terms were compared by their codes alone: "
            "one side or both had no name for them."
        )
    if not settings.structures:
        yield "No structures were given, so it is unknown which of the wrong codes exist."
    if found.invented is not None:
        where, them = plural(found.invented.count, "case"), "it" if found.codes == 1 else "them"
        codes = plural(found.codes, "selected code")
        yield f"{codes} in {where} {_is(found.codes)} invented: no code list has {them}."
    if found.stale:
        stale = list(found.stale)
        yield (
            f"In {plural(len(stale), 'case')} the target has codes or dimensions that the structures lack: "
            f"{_named(stale)}. The case is out of date, or the structures are."
        )
    if totals.through_hierarchy:
        counts = "counts as right" if settings.count_hierarchy else "does not count as right without --count-hierarchy"
        yield (
            f"In {plural(totals.through_hierarchy, turn)} a parent code was selected for its children, "
            f"or they for it, which {counts}."
        )


def slow_golds(cases: Iterable[CaseSummary], limits: Limits) -> Iterable[str]:
    """The gold queries that timed out, and those that took half of their time limit or more."""
    limit_s = limits.of_gold.timeout_s
    near: dict[str, float] = {}
    out: dict[str, None] = {}
    for case in cases:
        for gold in case.golds:
            if gold.status == "timeout":
                out[case.case_id] = None
            elif (took_s := gold.took_s) is not None and took_s >= _NEAR * limit_s:
                near[case.case_id] = max(took_s, near.get(case.case_id, 0.0))

    def named(ids: Iterable[str]) -> str:
        shown = [one_line(name, limit=40) for name in ids]
        return ", ".join([*shown[:_NAMED], *(["…"] if len(shown) > _NAMED else [])])

    limit = seconds(limit_s)
    if out:
        advice = "--gold-timeout gives gold queries more time"
        yield f"In {plural(len(out), 'case')} the gold query timed out after {limit} ({named(out)}): {advice}."
    if near:
        yield (
            f"In {plural(len(near), 'case')} the gold query took half of its {limit} or more, at most "
            f"{seconds(max(near.values()))} ({named(near)}): on a slower machine they may be excluded."
        )


def _joining(joining: Joining | None) -> Iterable[str]:
    """Notes on the matching to read before trusting a number: each a sentence."""
    if joining is None:
        return
    if joining.by == "position":
        why = "" if joining.stated else ", since neither file has ids"
        column = joining.id_column
        named = "" if column is None else f"; to match them by a column of both:  {option('--id-column', column)}"
        yield f"Predictions were matched to questions by position{why}{named}."
    if joining.by == "question":
        yield "Predictions were joined by the text of their questions, since they have no ids of the question set."
    if joining.loose_ids:
        ids = plural(joining.loose_ids, "id")
        yield f"{ids} in the predictions differ from the case's only in letter case, blanks, leading zeros or .0."
    if joining.questions_ignored:
        ignored = "Questions in the predictions were not compared with those of the cases (--ignore-questions)."
        if differ := joining.questions_differ:
            repeat = "repeats" if differ == 1 else "repeat"
            ignored += (
                f" Warning: {plural(differ, 'prediction')} {repeat} another question or database than the case's and "
                "may belong to another case."
            )
        yield ignored
    if joining.left_out:
        names = ", ".join(one_line(name, limit=40) for name in joining.left_out[:5])
        sheets = len(joining.left_out)
        yield f"{plural(sheets, 'sheet')} of the workbook {_is(sheets)} not read ({names})."


def _provenance(report: RunNumbers) -> Iterable[str]:
    """What was skipped, what matches no case, and which protections this system lacks."""
    made = report.run.provenance
    yield from map(visible, made.input_notes)
    if made.cases_left_out:
        every = plural(report.numbers.cases + made.cases_left_out, "case")
        yield f"Only the first {report.numbers.cases:,} of {every} {_is(report.numbers.cases)} evaluated (--limit)."
    if made.blank_rows:
        yield f"{plural(made.blank_rows, 'blank row')} in the question set {_is(made.blank_rows)} skipped."
    if ids := made.unmatched_predictions:
        yield f"{plural(len(ids), 'prediction')} {'matches' if len(ids) == 1 else 'match'} no case: {_named(ids)}."
    if columns := made.unread_columns:
        yield f"{plural(len(columns), 'column')} of the input files {_is(len(columns))} not read: {_named(columns)}."
    if made.unprotected:
        yield (
            f"The system of this run ({made.platform}) lacks protections: {', '.join(made.unprotected)}. Evaluate "
            "queries that you do not trust on Linux or in a container."
        )


def _named(names: Sequence[str]) -> str:
    """Names at the end of a sentence, in quotes: one may end with a full stop itself (``No.``)."""
    shown = ", ".join(f'"{one_line(name, limit=40)}"' for name in names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def facts(report: RunNumbers) -> Iterable[tuple[str, str]]:
    """The run's settings, system and data: names and values, as far as there is a value."""
    return ((name, visible(value)) for name, value in _facts(report) if value)


def are_row_numbers(case_ids: Iterable[str]) -> bool:
    """Whether ids count the rows of the question set from 0, which a spreadsheet counts from its header on."""
    ids = dict.fromkeys(case_ids)
    return bool(ids) and all(name == str(place) for place, name in enumerate(ids))


def joined(run: Run) -> str:
    """How answers from a file were matched to their questions: the key, and the column of each field on either side."""
    joining = run.provenance.joining
    if joining is None:
        return ""
    told = [_BY[joining.by] + (", as the format says" if joining.stated else "")]
    for side, uses in (("questions", joining.case_columns), ("predictions", joining.prediction_columns)):
        named = ", ".join(
            use.field if use.field == use.column else f"{use.field} from {one_line(use.column, limit=40)}"
            for use in uses
        )
        told += [f"{side}: {named}"] if uses else []
    return visible("; ".join(told))


def _facts(report: RunNumbers) -> Iterable[tuple[str, str]]:
    settings, made = report.run.settings, report.run.provenance
    engines = ", ".join(f"{engine.name} {engine.digest}" for engine in made.engine_versions)
    yield "Cases", settings.cases
    yield "Predictions", settings.predictions
    numbered = are_row_numbers(case.case_id for case in report.run.summaries)
    yield "Ids", "row numbers from 0, without the header: case 7 is the 8th question" if numbered else ""
    yield "Joined", joined(report.run)
    if settings.selection is not None:
        selection = settings.selection
        matched = "code alone" if selection.match_on == "id" else "code and name"
        children = "its children, and they as it" if selection.count_hierarchy else ""
        counts = f"counts as {children}" if children else "does not count as its children"
        yield "Structures", ", ".join(map(one_line, selection.structures)) or "none"
        yield "Terms", f"matched by {matched}; a parent code {counts}"
        yield "Language", f"{one_line(selection.language, limit=20)}, of names in code lists"
        yield "Libraries", engines
    else:
        yield "Database", settings.database
        yield "Gold database", settings.gold_database or ""
        yield (
            "Columns",
            "in gold order" if settings.columns == "strict" else "in any order, the same for all rows",
        )
        yield "Tolerance", f"relative {settings.relative_tolerance:g}, absolute {settings.absolute_tolerance:g}"
        yield "Leniency", settings.leniency.said or "none"
        yield "Limits", _limits(settings.limits)
        yield "Engines", engines
    yield "Asked", "" if report.asked == 1 else f"each question {report.asked:,} times"
    if report.numbers.usage is not None:
        yield from _usage(report.numbers.usage, len(report.run.evidence))
    if report.numbers.billed is not None:
        yield "Billed", billed(report.numbers.billed)
    yield from report.findings.facts()
    yield "Assay", f"{made.assay_version} on Python {made.python_version}, {made.platform}"
    yield "Started", made.started_at or ""
    yield "Took", seconds(made.wall_time_s) if made.wall_time_s is not None else ""


def _usage(usage: UsageTotals, answers: int) -> Iterable[tuple[str, str]]:
    """Tokens and cost in all, each with how many answers report it if not all do."""

    def of(count: int) -> str:
        return "" if count == answers else f" over {count:,} of {plural(answers, 'answer')}"

    parts = (
        (usage.input, "input", usage.answers_with_input),
        (usage.output, "output", usage.answers_with_output),
        (usage.total, "in all", usage.answers_with_total),
    )
    known = [(f"{total:,} {name}", saying) for total, name, saying in parts if total is not None]
    if len({saying for _, saying in known}) == 1:
        yield "Tokens", f"{', '.join(text for text, _ in known)}{of(known[0][1] or usage.answers_with_tokens)}"
    elif known:
        yield "Tokens", ", ".join(f"{text}{of(saying)}" for text, saying in known)
    if usage.cost_usd is not None:
        yield "Cost", f"{usage.cost_usd:,.4f} USD{of(usage.answers_with_cost)}"


def _limits(limits: Limits) -> str:
    own = "" if limits.gold_timeout_s is None else f" (gold {limits.gold_timeout_s:g} s)"
    bytes_ = limits.max_memory_bytes
    memory = f"{bytes_ / 2**30:g} GiB" if bytes_ >= 2**30 else f"{bytes_ / 2**20:g} MiB"
    return f"{limits.timeout_s:g} s{own}, {limits.max_rows:,} rows, {memory} per query"


def _proves(count: int) -> str:
    return "proves" if count == 1 else "prove"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


_BY = {
    "id": "by id",
    "question": "by the text of the question",
    "position": "by position",
    "row": "in one row of one file",
}
