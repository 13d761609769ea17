"""Apply the rules: to the gold queries of one case, and then across all cases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from assay.linting.catalogue import Rule, catalogue
from assay.linting.gold import CaseGolds, Found, Gold, GoldDatabase
from assay.linting.root_causes import explained
from assay.model import Case, Execution
from assay.model.lint import LintFinding, LintOptions, Severity
from assay.model.witness import Refutation
from assay.sql.comments import comments_of
from assay.sql.query import Unreadable
from assay.sql.schema import SchemaNames

_IGNORE = re.compile(r"assay\s*:\s*ignore\b[:\s]*([\w\-, \t]*)", re.IGNORECASE)
_EXCERPT = 160
GOLDS_PARTED = "golds-parted"
MOST_FOUND = 10
"""Limit for the findings of one rule in one gold query: a query with a thousand wrong values has one error, not a
thousand."""


class OtherAnswer(Struct, frozen=True, kw_only=True):
    """A stored run's query for a case."""

    run: str
    query: str


class GoldLint(Struct, frozen=True, kw_only=True):
    """The findings in one case."""

    findings: tuple[LintFinding, ...]
    golds: CaseGolds
    ignored: int = 0
    gaps: tuple[tuple[str, str], ...] = ()
    """What was missing, with the reason: ``("query", "it cannot be parsed as sqlite")``."""
    unknown_rules: tuple[str, ...] = ()
    """Names in comments that are not rules."""


def lint_gold(
    case: Case,
    options: LintOptions,
    *,
    dialect: str,
    names: SchemaNames | None = None,
    database: GoldDatabase | None = None,
    others: Sequence[OtherAnswer] = (),
) -> GoldLint:
    """Apply every rule for single gold queries to a case. Never raises for what a query says or does.

    Rules that need something missing (a database, a readable query) are skipped, and ``gaps`` gives the reason.
    """
    findings: list[LintFinding] = []
    gaps: dict[str, str] = {}
    unknown: list[str] = []
    ignored = 0
    golds = [Gold(case, index, dialect, names, database) for index in range(len(case.golds))]
    for gold in golds:
        own: list[LintFinding] = []
        off, strange = ignored_rules(gold.text, dialect)
        unknown += strange
        if isinstance(gold.reading, Unreadable) and gold.text.strip():
            gaps["query"] = f"it {gold.reading.reason}"
        for rule in catalogue():
            if rule.check is None or not options.applies(rule.about.name):
                continue
            if rule.about.needs == "database" and database is None:
                continue
            if rule.about.needs == "question" and not case.question.strip():
                continue
            for found in _found_by(rule, gold, gaps):
                if off is not None and (not off or rule.about.name in off):
                    ignored += 1
                else:
                    own.append(finding_of(rule, found, case, gold.index))
        findings += explained(own)
    failures = [gold.execution.failure for gold in golds if gold.execution is not None]
    unread = next(
        (one for one in failures if one is not None and one.kind in ("unreadable_database", "unreadable_value")), None
    )
    if unread is not None:
        gaps["database"] = unread.message
    elif database is not None and names is None:
        gaps["schema"] = "the engine cannot describe the database's tables"
    return GoldLint(
        findings=tuple(findings),
        golds=replace(_together(case, golds, others), parted=_parted(golds, options)),
        ignored=ignored,
        gaps=tuple(gaps.items()),
        unknown_rules=tuple(unknown),
    )


def _found_by(rule: Rule, gold: Gold, gaps: dict[str, str]) -> Sequence[Found]:
    """The findings of a rule; if the rule of another package fails, none, and ``gaps`` has the reason."""
    assert rule.check is not None
    try:
        return [_found(found) for found in islice(rule.check(gold), MOST_FOUND)]
    except Exception as error:  # a rule of another package may raise anything
        if rule.package is None:
            raise
        gaps[f"rule {rule.about.name}"] = failed_rule(rule, error)
        return ()


def failed_rule(rule: Rule, error: Exception) -> str:
    """Why a rule of another package found nothing."""
    return f"the rule {rule.about.name} of {rule.package} fails: {type(error).__name__}: {error}"


def _found(value: object) -> Found:
    if not isinstance(value, Found):
        raise TypeError(f"it yields {type(value).__name__}, not assay.linting.Found")
    return value


def ignored_rules(query: str, dialect: str) -> tuple[frozenset[str] | None, list[str]]:
    """The rules that comments of a query turn off (empty: all; None: none), and unknown names in these comments."""
    known = {rule.about.name for rule in catalogue()}
    off: set[str] = set()
    strange: list[str] = []
    every = False
    seen = False
    for comment in comments_of(query, dialect):
        for match in _IGNORE.finditer(comment):
            seen = True
            given = [word for word in re.split(r"[,\s]+", match[1].strip()) if word]
            if not given or given == ["all"]:
                every = True
            # Words after the first unknown one may be prose: "ignore limit-over-tie because ..."
            for place, word in enumerate(given):
                if word in known:
                    off.add(word)
                elif word != "all":
                    if place == 0 or "-" in word:
                        strange.append(word)
                    break
    if not seen:
        return None, []
    return (frozenset() if every else frozenset(off)) if every or off else None, strange


def finding_of(rule: Rule, found: Found, case: Case, gold: int) -> LintFinding:
    """A finding with its line and column."""
    query = case.golds[gold] if gold < len(case.golds) else case.result_query or ""
    place = found.place
    start = _position(query, place.start) if place is not None else (None, None)
    end = _position(query, place.end) if place is not None else (None, None)
    about = rule.about
    return LintFinding(
        rule=about.name,
        severity=cast("Severity", found.severity or about.severity),
        case_id=case.id,
        gold=gold,
        evidence=found.evidence,
        remedy=found.remedy or about.remedy,
        question=case.question,
        query=query,
        database=case.database,
        origin=case.origin,
        line=start[0],
        column=start[1],
        end_line=end[0],
        end_column=end[1],
        excerpt="" if place is None else " ".join(query[place.start : place.end].split())[:_EXCERPT],
        root_cause=found.root_cause,
    )


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _parted(golds: Sequence[Gold], options: LintOptions) -> tuple[tuple[int, Refutation], ...]:
    """The gold queries that return the first one's result here, and a different one on another database."""
    part = None if not golds or golds[0].database is None else golds[0].database.part
    if part is None or len(golds) == 1 or not options.applies(GOLDS_PARTED):
        return ()
    first, *others = (digest(gold.execution) for gold in golds)
    found = []
    for gold, other in zip(golds[1:], others, strict=True):
        if first is not None and other == first:
            refutation = part(golds[0].text, gold.text)
            if refutation.differs:
                found.append((gold.index, refutation))
    return tuple(found)


def _together(case: Case, golds: Sequence[Gold], others: Sequence[OtherAnswer]) -> CaseGolds:
    digests = tuple(digest(gold.execution) for gold in golds)
    texts = tuple(" ".join(gold.text.casefold().replace(";", " ").split()) for gold in golds)
    # The result in stored runs for the case: the largest group with one result other than every gold result.
    database = golds[0].database if golds else None
    groups: dict[str, list[str]] = {}
    for other in others:
        result = None if database is None else digest(database.run(other.query))
        if result is not None:
            groups.setdefault(result, []).append(other.run)
    against = [runs for result, runs in groups.items() if result not in digests]
    largest: list[str] = max(against, key=len, default=[])
    results = [None if gold.execution is None else gold.execution.result for gold in golds]
    return CaseGolds(
        case=case,
        digests=digests,
        texts=texts,
        rows=tuple(0 if result is None else len(result.rows) for result in results),
        widths=tuple(0 if result is None else result.column_count for result in results),
        agreeing=tuple(largest),
        others=sum(map(len, groups.values())),
    )


def digest(execution: Execution | None) -> str | None:
    """A hash of a result that ignores the order of rows and columns; None if there is no result."""
    if execution is None or not execution.succeeded or execution.result is None:
        return None
    rows = execution.result.rows
    columns = sorted("\0".join(sorted(map(_spelt, column))) for column in zip(*rows, strict=True))
    whole = sorted("\0".join(sorted(map(_spelt, row))) for row in rows)
    text = "\1".join([str(len(rows)), str(execution.result.column_count), *columns, *whole])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _spelt(cell: object) -> str:
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float):
        return f"{cell:.10g}"
    return str(cell)


def _found_across(rule: Rule, cases: Sequence[CaseGolds], failed: dict[str, str]) -> Sequence[tuple[str, int, Found]]:
    assert rule.across is not None
    known = {one.case.id for one in cases}
    try:
        every = [(case_id, gold, _found(found)) for case_id, gold, found in rule.across(cases)]
        strange = next((case_id for case_id, _, _ in every if case_id not in known), None)
        if strange is not None:
            raise ValueError(f"it names the case {strange!r}, which does not exist")
    except Exception as error:  # as above
        if rule.package is None:
            raise
        failed[rule.about.name] = failed_rule(rule, error)
        return ()
    return every


def lint_across(
    cases: Sequence[CaseGolds], options: LintOptions, *, runs: bool, failed: dict[str, str] | None = None
) -> Iterator[LintFinding]:
    """Apply the rules that compare all cases; those that need stored runs only with ``runs``.

    ``failed`` is given the rules of other packages that failed, with the reason.
    """
    by_id = {one.case.id: one.case for one in cases}
    off = {
        (one.case.id, index): ignored_rules(query, "sqlite")[0]
        for one in cases
        for index, query in enumerate(one.case.golds)
        if "assay" in query
    }
    for rule in catalogue():
        if rule.across is None or not options.applies(rule.about.name) or (rule.about.needs == "runs" and not runs):
            continue
        for case_id, gold, found in _found_across(rule, cases, {} if failed is None else failed):
            turned_off = off.get((case_id, gold))
            if turned_off is None or (turned_off and rule.about.name not in turned_off):
                yield finding_of(rule, found, by_id[case_id], gold)


def applied(options: LintOptions, *, database: bool, runs: bool) -> tuple[str, ...]:
    """The names of the rules that lint applies with these options."""
    return tuple(
        rule.about.name
        for rule in catalogue()
        if options.applies(rule.about.name)
        and (database or rule.about.needs != "database")
        and ((runs and database) or rule.about.needs != "runs")
    )
