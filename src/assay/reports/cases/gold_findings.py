"""The findings of a run's lint of its gold queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from assay.model import Count, Run
from assay.model.lint import SEVERITIES, LintFinding
from assay.reports.text.plain import one_line, plural

_LENGTH = 500
_MOST = 20
_ROOTS = 3


class GoldFindings:
    """The findings of a run's lint by case and by rule; nothing without a lint."""

    def __init__(self, run: Run) -> None:
        self.lint = run.lint
        self._by_case: dict[str, list[LintFinding]] = defaultdict(list)
        for finding in run.lint.findings if run.lint is not None else ():
            self._by_case[finding.case_id].append(finding)

    def of(self, case_id: str) -> tuple[str, ...]:
        """Each finding about a case, the severest first: ``rule (severity): evidence remedy``."""
        if not (findings := self._by_case.get(case_id)):
            return ()
        found = sorted(findings, key=lambda one: SEVERITIES.index(one.severity))
        several = len({one.gold for one in found}) > 1
        return tuple(_told(one, numbered=several) for one in found[:_MOST])

    def rules(self, case_id: str) -> tuple[str, ...]:
        """The names of the rules that found something about a case, each once."""
        return tuple(dict.fromkeys(one.rule for one in self._by_case.get(case_id, ())))

    def counts(self) -> tuple[Count, ...]:
        """The cases of each rule, the severest rules first, then the most frequent."""
        cases: dict[str, dict[str, None]] = defaultdict(dict)
        worst: dict[str, int] = {}
        for finding in self.lint.findings if self.lint is not None else ():
            cases[finding.rule][finding.case_id] = None
            rank = SEVERITIES.index(finding.severity)
            worst[finding.rule] = min(rank, worst.get(finding.rule, rank))
        order = sorted(cases, key=lambda rule: (worst[rule], -len(cases[rule]), rule))
        return tuple(Count(name=rule, count=len(cases[rule]), case_ids=tuple(cases[rule])) for rule in order)

    def meanings(self) -> dict[str, str]:
        """Per rule its severity and what it finds."""
        if not self._by_case:
            return {}
        from assay.linting.catalogue import rules_by_name  # what reads golds loads only for who wants it

        return {name: f"{rule.severity}: {rule.finds}" for name, rule in rules_by_name().items()}

    def notes(self, without: str) -> Iterable[str]:
        """How many gold queries are doubtful; ``without``: a sentence with the accuracy over the others."""
        if self.lint is None:
            return
        doubtful = len(self.lint.doubtful())
        if doubtful:
            cases = plural(doubtful, "case")
            yield f"The lint reports errors or warnings about the gold queries of {cases}.{without}"
        roots = self.lint.root_causes()
        if roots:
            largest = "; ".join(
                f"{one_line(one.name, limit=120)}: {plural(len(one.findings), 'finding')} "
                f"in {plural(len(one.cases), 'case')}"
                for one in roots[:_ROOTS]
            )
            more = f"; and {len(roots) - _ROOTS:,} more" if len(roots) > _ROOTS else ""
            yield f"Lint findings share root causes: {largest}{more}."
        for gap in self.lint.gaps:
            if gap.cases:
                cases = plural(len(gap.cases), "case")
                yield f"The lint could not apply all rules to {cases}: {one_line(gap.why, limit=200)}."

    def facts(self) -> Sequence[tuple[str, str]]:
        """What the lint looked at, for how the run was made."""
        if self.lint is None:
            return ()
        found = f"{plural(len(self.lint.findings), 'finding')} by {plural(len(self.lint.rules), 'rule')}"
        ignored = f", {self.lint.ignored:,} turned off by comments" if self.lint.ignored else ""
        return (("Lint of gold", f"{found} about {plural(self.lint.golds, 'gold query', 'gold queries')}{ignored}"),)


def _told(finding: LintFinding, *, numbered: bool) -> str:
    gold = f", gold {finding.gold + 1}" if numbered else ""
    said = f"{finding.rule} ({finding.severity}{gold}): {finding.evidence} {finding.remedy}"
    return one_line(said, limit=_LENGTH)
