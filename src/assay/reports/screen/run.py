"""A run on one screen.

The headline, what it is of, what to know before trusting it, the causes to fix first, accuracy by difficulty or by
database, the metrics, the gates, what to do next, and the headline again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from assay.model import GateResult, Group
from assay.platform.shell import quoted
from assay.reports.blocks.counts import FIX_FIRST
from assay.reports.blocks.gates import gate_name, missed_by, missed_cases
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_notes import are_row_numbers
from assay.reports.cases.case import advice_of
from assay.reports.console.bars import shade
from assay.reports.console.run import telling_case
from assay.reports.screen.lines import Line, Span, command, cut, cut_line, cut_middle, line, text_of, wrapped
from assay.reports.screen.parts import LINES, WIDTH, Part, fits, notes_part, screen
from assay.reports.screen.tables import count_lines, dense_lines, figure_lines, telling_first
from assay.reports.text.plain import columns_of, one_line, plural, source_name, words

_HEADLINE_LINES = 3
_NOTE_LINES = 3
_ROWS = 6
"""The most groups of the accuracy by difficulty or by database."""
_METRICS = 10
"""The metrics that any run shows, in the order in which they were named."""
_GATES_WITH_CASES, _MISSED_GATES = 3, 8
"""Up to how many missed gates show their cases, and how many are shown before other parts show more."""
_STEP_LINES = 4
_LONGEST_WORD = 400
"""A path that is longer is not for typing."""

Step = tuple[str, Sequence[str]]
"""What a command is for, and its words, quoted."""


def run_screen(
    report: RunReport,
    *,
    width: int = WIDTH,
    drawn: bool = False,
    lines: int = LINES,
    run_path: str | None = None,
    written: Mapping[str, str] | None = None,
    earlier: str | None = None,
    unkept: str = "",
) -> list[Line]:
    """The summary of a run for lines of ``width`` columns; ``drawn``: with bars, for a terminal.

    ``run_path``, ``written`` and ``earlier`` are those of `assay.reports.console.run.print_summary`; ``unkept`` says
    that the run is stored nowhere.
    """
    headline = _headline(report, width)
    head = [*headline, *_subject(report, width)]
    steps = next_steps(report, run_path, written or {}, earlier=earlier)
    others = (
        _causes(report, width),
        *_breakdown(report, width, drawn=drawn),
        steps_part(steps, width, unkept),
    )
    for notes, is_dense in product(range(_NOTE_LINES, 0, -1), (False, True)):
        # Several metrics per line and shorter notes, until each part has its least number of lines.
        metrics = _metrics(report, width, drawn=drawn, is_dense=is_dense)
        made = (
            notes_part(report.notes, width, lines=notes, least=3, most=6, rank=2),
            *others[:-1],
            metrics,
            *gates_part(report.run.gates, width),
            others[-1],
        )
        parts = [one for one in made if one.items]
        if fits(head, parts, headline, width=width, lines=lines):
            break
    return screen(head, parts, headline, width=width, lines=lines)


def screen_text(lines: Sequence[Line]) -> str:
    """The lines without styles."""
    return "".join(f"{text_of(one).rstrip()}\n" for one in lines)


def _headline(report: RunReport, width: int) -> tuple[Line, ...]:
    """``Accuracy 71.2 % [68.4, 73.9] · 736 of 1,034 correct · 0 unscored``."""
    figure = report.headline
    name = cut(report.headline_name, 40)
    bounds = f" {figure.interval}" if figure.interval else ""
    start = f"{name} {figure.text}"
    lines = [f"{start}{bounds}"]
    for part in report.tallies:
        joined = f"{lines[-1]} · {part}"
        if columns_of(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(f"  {part}")
    marked = line(Span(f"{name} ", "bold"), Span(figure.text, f"bold {shade(figure)}"), lines[0][len(start) :])
    others = [one for text in lines[1:] for one in wrapped(text.strip(), width, first="  ", most=2)]
    return (cut_line(marked, width), *others[: _HEADLINE_LINES - 1])


def _subject(report: RunReport, width: int) -> list[Line]:
    """What was evaluated on what: a line or two."""
    settings, numbers = report.run.settings, report.numbers
    name = one_line(settings.name or "", limit=60)
    counted = f", {plural(numbers.cases, 'case')}"
    counted += " (ids count from 0)" if are_row_numbers(case.case_id for case in report.run.summaries) else ""
    asked = f", each asked {report.asked:,} times" if report.asked > 1 else ""
    system, questions = one_line(source_name(settings.predictions)), one_line(source_name(settings.cases))
    if columns_of(f"{system} on {questions}{counted}{asked}") > width:
        room = max(8, (width - columns_of(f" on {counted}{asked}")) // 2)
        system, questions = cut_middle(system, room), cut_middle(questions, room)
    of = f"{system} on {questions}{counted}{asked}"
    named = f"{name}{counted}{asked}" if name else of
    lines = [line(Span(cut(named, width), "dim"))]
    databases = len(numbers.by_database)
    several = f" ({databases:,} databases)" if databases > 1 else ""
    measured = f" · {cut(report.headline_metric, 30)}, {report.confidence} interval"
    if database := one_line(settings.database):
        database = cut_middle(database, max(8, width - columns_of(several + measured)))
    return [*lines, line(Span(f"{database}{several}{measured}".removeprefix(" · "), "dim"))]


def _causes(report: RunReport, width: int) -> Part:
    """The causes whose repair gains most; of a run without repairs the most frequent ones."""
    numbers = report.numbers
    found = numbers.fix_first or numbers.causes
    title = FIX_FIRST if numbers.fix_first else "Causes of wrong predictions"
    rows = [(words(one.name), one.count, advice_of(one.name), report.linked(one.case_ids)) for one in found[:5]]
    return Part(title=title, items=count_lines(rows, width), least=5, most=5, rank=3, total=len(found))


def _breakdown(report: RunReport, width: int, *, drawn: bool) -> list[Part]:
    """The accuracy by difficulty or by database, depending on which groups differ more (`telling`)."""
    if (chosen := telling(report)) is None:
        return []
    kind, groups = chosen
    lowest = kind != "difficulty" and len(groups) > _ROWS
    if lowest:
        groups = sorted(groups, key=lambda group: -_lost(report, group))
    shown = [(report.group_name(one), report.figure(one, report.leading)) for one in groups[:_ROWS]]
    title = f"{cut(report.headline_name, 40)} by {kind}" + (", most wrong predictions first" if lowest else "")
    items = figure_lines(shown, width, drawn=drawn)
    return [Part(title=title, items=items, least=4, most=_ROWS, rank=4, total=len(groups))]


def _lost(report: RunReport, group: Group) -> float:
    """How much the group lacks to a rate of 1, in cases."""
    rate = report.figure(group, report.leading).rate
    return rate.n - rate.numerator


def telling(report: RunReport) -> tuple[str, Sequence[Group]] | None:
    """The breakdown that tells more: by difficulty or by database; without both the first one, None if there is none.

    It is the one with the greater spread between its groups: their chi-square statistic less its degrees of freedom,
    which random groups would have on average. If both are equal, it is difficulty.
    """
    found = [one for one in report.groups if one[0] in ("difficulty", "database")] or report.groups[:1]
    return max(found, key=lambda one: _spread(report, one[1]), default=None)


def _spread(report: RunReport, groups: Sequence[Group]) -> float:
    rates = [rate for group in groups if (rate := report.figure(group, report.leading).rate).n]
    whole = sum(rate.n for rate in rates)
    mean = sum(rate.numerator for rate in rates) / whole if whole else 0.0
    variance = mean * (1 - mean)
    if variance <= 0:
        return 0.0
    return sum(rate.n * (rate.numerator / rate.n - mean) ** 2 for rate in rates) / variance - (len(rates) - 1)


def _metrics(report: RunReport, width: int, *, drawn: bool, is_dense: bool) -> Part:
    """Every metric but the headline's, if any case has a value, those first that no other one stands for.

    ``is_dense``: with the value alone, several per line.
    """
    others = telling_first((one.metric, one.figure) for one in report.metrics if not one.headline and one.figure.rate.n)
    if is_dense and others:
        # A metric of fewer cases than the headline says of how many.
        counts = [f"(n={one.rate.n:,})" if one.rate.n < report.headline.rate.n else "" for _, one in others]
        room = max(map(len, counts))
        values = [f"{one.text} {counted:<{room}}" for (_, one), counted in zip(others, counts, strict=True)]
        rows = [(name, value if room else value.rstrip()) for (name, _), value in zip(others, values, strict=True)]
        items, sizes = dense_lines(rows, width, least=_METRICS)
        return Part(
            title="Other metrics",
            items=items,
            sizes=sizes,
            least=len(items),
            floor=len(items),
            most=len(items),
            rank=0,
            total=len(others),
        )
    items = figure_lines(others[:20], width, drawn=drawn)
    return Part(title="Other metrics", items=items, least=_METRICS, most=20, rank=1, total=len(others))


def gates_part(results: Sequence[GateResult], width: int) -> list[Part]:
    """The gates, the missed ones first: a few of them with their cases, many on one line each."""
    if not results:
        return []
    failed = [one for one in results if not one.passed]
    several = len(failed) > _GATES_WITH_CASES
    items, fuller = [], []
    for one in (*failed, *(one for one in results if one.passed)):
        found, cases = f"found {one_line(one.found, limit=400)}", "" if several else missed_cases(one)
        text = f"{cut(gate_name(one), max(12, width // 2))}: {'; '.join(filter(None, (missed_by(one), found, cases)))}"
        most = 2 if one.passed else 1 if several else 3 + (len(failed) == 1)
        items.append(_gate(text, width, passed=one.passed, most=most))
        fuller.append(_gate(text, width, passed=one.passed))
    title = f"Gates: {len(results) - len(failed):,} of {len(results):,} passed"
    title += f", {len(failed):,} missed" if failed else ""
    least = min(_MISSED_GATES, len(failed)) or 1
    whole = () if several else tuple(fuller)
    return [Part(title=title, items=tuple(items), fuller=whole, least=least, most=max(6, least), rank=0)]


def _gate(text: str, width: int, *, passed: bool, most: int | None = None) -> tuple[Line, ...]:
    sign, style = ("✓", "green") if passed else ("✗", "bold red")
    first, *others = wrapped(text, width, first="    ", rest="    ", most=most)
    return (line(Span(f"  {sign} ", style), text_of(first)[4:]), *others)


def steps_part(steps: Sequence[Step], width: int, unkept: str = "") -> Part:
    """Commands to copy, each with what it is for, but none with hidden characters, which cannot be typed."""
    items: list[tuple[Line, ...]] = []
    steps = [(what, typed) for what, typed in steps if all(word.isprintable() for word in typed)]
    room = max((columns_of(what) for what, _ in steps), default=0) + 2
    for what, typed in steps:
        whole = " ".join(typed)
        if room + 2 + columns_of(whole) <= width:
            items.append((line(Span(f"  {what.ljust(room)}", "dim"), Span(whole, "cyan")),))
        elif columns_of(whole) <= _LONGEST_WORD and (lines := command(typed, width, indent="    ")):
            items.append((line(Span(f"  {what}:", "dim")), *lines))
    while len(items) > 1 and sum(map(len, items)) > _STEP_LINES:
        items.pop()
    items += [wrapped(unkept, width, first="  ", rest="  ")] if unkept else []
    return Part(title="Next", items=tuple(items), least=len(items), most=5, more="more")


_WORKBOOKS = {"xlsx-f1": "the F1 part", "xlsx-ves": "the VES part", "xlsx-answers": "the answers"}


def next_steps(
    report: RunReport, run_path: str | None, written: Mapping[str, str], *, earlier: str | None = None
) -> list[Step]:
    """Commands for what a person does next, the most useful first, and the files that were written."""
    steps: list[Step] = []
    settings, run = report.run.settings, quoted(run_path) if run_path else None
    if run is not None and report.headline.rate.n and (wrong := telling_case(report)) is not None:
        steps.append(("why one is wrong", ("assay", "explain", run, wrong)))
    if run is not None and report.headline.rate.n and (excluded := report.collected.unscored.of_gold):
        steps.append(("why one is excluded", ("assay", "explain", run, quoted(excluded[0]))))
    is_broken = bool(report.collected.unscored.broken) and not report.of_selections
    if is_broken and "***" not in settings.database and one_line(settings.database) == settings.database:
        typed = ("assay", "lint", quoted(settings.cases), "--db", quoted(settings.database))
        steps.append(("check the gold", typed))
    elif run is not None and earlier is not None:
        steps.append(("what has changed", ("assay", "diff", quoted(earlier), run)))
    for name, path in written.items():
        if name.startswith("xlsx"):
            steps.append((_WORKBOOKS.get(name, "the workbook"), (quoted(path),)))
    if "html" in written:
        steps.append(("every case", (written["html"],)))
    elif run is not None:
        steps.append(("every case", ("assay", "report", run, "--html", "report.html")))
    if run is not None:
        steps.append(("every number", ("assay", "report", run, "--full")))
    return steps
