"""What a lint of gold queries found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from assay.errors import plural

Severity = Literal["error", "warning", "note"]
"""``error``: the gold query is surely unsound; ``warning``: likely; ``note``: worth a look."""
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_SHOWN = 20
"""Findings in a notebook."""

RuleNeeds = Literal["query", "question", "database", "cases", "runs"]
"""The most that a rule looks at, beyond the queries: nothing, the questions, the database, all cases, stored runs."""


class LintRule(Struct, frozen=True, kw_only=True):
    """All that is said of one rule."""

    name: str
    severity: Severity
    needs: RuleNeeds
    finds: str
    """One clause that begins in lower case: ``a LIMIT without an ORDER BY``."""
    why: str
    """Why it matters, in sentences."""
    remedy: str
    """What to do, as an imperative sentence."""
    bad: str
    """A query, with its question where that matters, that the rule flags."""
    good: str
    """The same, fixed."""


class LintFinding(Struct, frozen=True, kw_only=True):
    """One thing that is doubtful about one gold query."""

    rule: str
    severity: Severity
    case_id: str
    gold: int
    """Zero-based: which of the case's gold queries."""
    evidence: str
    """What was seen, as a sentence that a person can check."""
    remedy: str
    question: str = ""
    query: str = ""
    database: str | None = None
    origin: str | None = None
    """Where the case was read, for example ``dev.jsonl, line 17``."""
    line: int | None = None
    """In the query, from 1; None if the finding is about the whole of it."""
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    """One beyond the last character."""
    excerpt: str = ""
    root_cause: str = ""
    """What lies behind it, where that can lie behind other findings about the same database, too; else empty."""


class LintRootCause(Struct, frozen=True, kw_only=True):
    """Several findings with one root cause: fix it, and all are fixed."""

    cause: str
    database: str | None
    severity: Severity
    """The severest finding's."""
    findings: tuple[LintFinding, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its findings, each once."""
        return tuple(dict.fromkeys(one.rule for one in self.findings))

    @property
    def cases(self) -> tuple[str, ...]:
        """The ids of its cases, each once."""
        return tuple(dict.fromkeys(one.case_id for one in self.findings))

    @property
    def name(self) -> str:
        """The cause and the database."""
        return f"{self.cause} ({self.database})" if self.database else self.cause


class LintGap(Struct, frozen=True, kw_only=True):
    """Rules that could not be applied to some gold queries, and why."""

    why: str
    rules: tuple[str, ...]
    """Empty: all that need what is missing."""
    cases: tuple[str, ...]


class LintAccuracy(Struct, frozen=True, kw_only=True):
    """How right a stored run is, over all its cases and over those whose gold query is not doubtful.

    A case is doubtful that has a warning or an error of a rule that looks at no run: what systems answered must not
    choose the cases by which they are scored.
    """

    run: str
    correct: int
    scored: int
    """Answers that are correct or incorrect; unscored ones are left out."""
    sound_correct: int
    sound_scored: int


class LintReport(Struct, frozen=True, kw_only=True):
    """The findings of one lint, in the order of the cases, with what was looked at."""

    name: str
    """The question set."""
    findings: tuple[LintFinding, ...]
    cases: int
    golds: int
    rules: tuple[str, ...]
    """The rules that were applied."""
    gaps: tuple[LintGap, ...] = ()
    notes: tuple[str, ...] = ()
    database: str | None = None
    ignored: int = 0
    """Findings that a comment in a query turned off."""
    accuracies: tuple[LintAccuracy, ...] = ()
    """Accuracy of the given runs, in their order."""
    fingerprint: str = ""
    """For a run's own lint: a hash of its input and options."""

    def _repr_html_(self) -> str:
        """What a notebook shows: the number of findings, and the first of them, the severest before the others."""
        from assay.model.notebook import block, table

        found = sorted(self.findings, key=lambda one: SEVERITIES.index(one.severity))
        rows = [(one.severity, one.case_id, one.rule, one.evidence) for one in found[:_SHOWN]]
        more = len(found) - len(rows)
        title = f"{self.name}: {plural(len(found), 'finding')} in {plural(self.cases, 'case')}"
        told = [*self.notes, *([f"the first {len(rows)} findings; {more:,} more"] if more else [])]
        tables = [table(("severity", "case", "rule", "evidence"), rows)] if rows else ()
        return block(title, told, tables, mood="bad" if self.reaches("error") else "open" if found else "good")

    @property
    def unread(self) -> tuple[LintGap, ...]:
        """The gaps of databases that could not be read: rules that need them were not applied to these cases."""
        return tuple(gap for gap in self.gaps if gap.cases and "gold-fails" in gap.rules)

    def worst(self) -> Severity | None:
        """The severest finding's severity; None without findings."""
        return min((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    def reaches(self, severity: Severity) -> bool:
        """Whether some finding is at least as severe."""
        return bool(self.doubtful(severity))

    def counts(self) -> Mapping[str, int]:
        """Findings per rule, the most frequent first."""
        found = Counter(finding.rule for finding in self.findings)
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def root_causes(self) -> tuple[LintRootCause, ...]:
        """The root causes that several findings share, that of most findings first."""
        found: dict[tuple[str | None, str], list[LintFinding]] = {}
        for one in self.findings:
            if one.root_cause:
                found.setdefault((one.database, one.root_cause), []).append(one)
        groups = [
            LintRootCause(
                cause=cause,
                database=database,
                severity=min((one.severity for one in own), key=SEVERITIES.index),
                findings=tuple(own),
            )
            for (database, cause), own in found.items()
            if len(own) > 1
        ]
        return tuple(sorted(groups, key=lambda one: (-len(one.findings), one.name)))

    def rules_by_case(self) -> dict[str, list[str]]:
        """Per case with findings the names of their rules, each once, in the order of the query."""
        found: dict[str, dict[str, None]] = {}
        for one in self.findings:
            found.setdefault(one.case_id, {})[one.rule] = None
        return {case_id: list(rules) for case_id, rules in found.items()}

    def doubtful(self, severity: Severity = "warning") -> frozenset[str]:
        """The ids of the cases with a finding at least that severe."""
        limit = SEVERITIES.index(severity)
        return frozenset(one.case_id for one in self.findings if SEVERITIES.index(one.severity) <= limit)


class LintOptions(Struct, frozen=True, kw_only=True):
    """Which rules to apply. Empty ``only``: all."""

    only: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()

    def applies(self, rule: str) -> bool:
        """Whether a rule is on."""
        return rule not in self.ignore and (not self.only or rule in self.only)
