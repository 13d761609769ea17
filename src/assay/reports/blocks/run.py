"""A run as every format draws it: its headline, its notes, its facts, its blocks and the views of its cases."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from msgspec.structs import replace

from assay.model import Evidence
from assay.reports.blocks import reviews, run_notes, run_sections
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import Section
from assay.reports.cases import selection
from assay.reports.cases.case import CaseView, case_view


class RunReport(RunNumbers):
    """A run with everything that a report shows, so that no two reports can disagree.

    ``sections`` are the blocks of the report, the most important first. All text is safe to show
    (`assay.reports.text.plain.visible`), but not escaped for any format.
    """

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Every section between the headline and the cases, the most important first."""
        return tuple(run_sections.sections(self))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes to read before trusting the headline."""
        return tuple(run_notes.notes(self))

    @cached_property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The run's settings, system and data: names and values."""
        return tuple(run_notes.facts(self))

    @property
    def joined(self) -> str:
        """How answers from a file were matched to their questions, and which column was used for which field."""
        return run_notes.joined(self.run)

    def room(self, shown: Iterable[Evidence] | None = None, *, terms: int | None = None) -> selection.Room:
        """How much of each case is shown if these are shown together; None: all."""
        lengths = (
            self.collected.lengths if shown is None else selection.TermLengths(shown if self.of_selections else ())
        )
        return lengths.room(terms=terms)

    def case(self, item: Evidence, room: selection.Room, *, page: bool = False) -> CaseView:
        """One case with all that is known of it; ``page``: with as many rows of the results as a page shows."""
        link = self.collected.link_of(item.case.id, item.prediction.repeat)
        if self.of_selections:
            return self._with_review(item, selection.case_view(item, link, room))
        view = self._with_review(item, case_view(item, link, page=page))
        found = self.findings.of(item.case.id)
        return replace(view, findings=found, rules=self.findings.rules(item.case.id)) if found else view

    def _with_review(self, item: Evidence, view: CaseView) -> CaseView:
        reviewed = reviews.of_case(item)
        return view if reviewed is None else replace(view, reviewed=reviewed)
