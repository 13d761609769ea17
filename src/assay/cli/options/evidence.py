"""The options of what a run looks for besides its verdicts: witnesses, and errors in gold queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from assay.cli.options.declared import typed
from assay.errors import UsageError
from assay.model.witness import MOST_ROWS, WitnessSettings
from assay.settings import LintFileSettings, WitnessFileSettings
from assay.settings.setting import fields_of

if TYPE_CHECKING:
    from assay.model.lint import LintOptions


class WitnessFlags(Struct, frozen=True, kw_only=True):
    """Options of the search for counterexamples."""

    witness: Annotated[bool, typed(WitnessFileSettings, "with_run")] = False
    time: Annotated[float | None, typed(WitnessFileSettings, "time")] = None
    total: Annotated[float | None, typed(WitnessFileSettings, "total")] = None
    seed: Annotated[int | None, typed(WitnessFileSettings, "seed")] = None
    rows: Annotated[int | None, typed(WitnessFileSettings, "rows")] = None
    scratch: Annotated[str | None, typed(WitnessFileSettings, "scratch")] = None

    def over(self, file: bool | WitnessFileSettings | None) -> WitnessFileSettings:  # noqa: FBT001 - as the file says it
        """A file's section with what was typed in its place."""
        section = file if isinstance(file, WitnessFileSettings) else WitnessFileSettings(with_run=bool(file))
        given = {name: value for name in _OF_SEARCH if (value := getattr(self, name)) is not None}
        return replace(section, with_run=self.witness or section.with_run, **given)

    def gathered(self, file: bool | WitnessFileSettings | None) -> WitnessSettings | None:  # noqa: FBT001 - as the file says it
        """The options over a settings file; None if neither asks. Raises UsageError for an invalid value."""
        section = self.over(file)
        if not section.with_run:
            for name, option in _OF_SEARCH.items():
                if getattr(self, name) is not None:
                    raise UsageError(f"{option} is for the search for counterexamples: add --witness, or omit it")
            return None
        default = WitnessSettings()
        rows = default.max_rows if section.rows is None else section.rows
        if not 0 <= rows <= MOST_ROWS:
            raise UsageError(f"witness, rows is {rows}: give 0 to {MOST_ROWS}")
        return WitnessSettings(
            seconds=default.seconds if section.time is None else section.time,
            total_s=section.total,
            seed=default.seed if section.seed is None else section.seed,
            max_rows=rows,
        )

    def server(self, file: bool | WitnessFileSettings | None) -> str | None:  # noqa: FBT001 - as the file says it
        """The URL of a server for scratch schemas; None if there is none named, or no witness is looked for."""
        section = self.over(file)
        return section.scratch if section.with_run else None


class EvidenceFlags(WitnessFlags, frozen=True, kw_only=True):
    """Evidence besides the verdicts: counterexamples of matches, and findings on gold queries."""

    lint: Annotated[bool, typed(LintFileSettings, "with_run")] = False
    lint_only: Annotated[str | None, typed(LintFileSettings, "only")] = None
    lint_ignore: Annotated[str | None, typed(LintFileSettings, "ignore")] = None

    def lint_section(self, file: LintFileSettings | None) -> LintFileSettings:
        """A file's section with what was typed in its place."""
        section = file or LintFileSettings()
        only, ignore = (
            tuple(part.strip() for part in (text or "").split(",") if part.strip())
            for text in (self.lint_only, self.lint_ignore)
        )
        for option, text, names in (("only", self.lint_only, only), ("ignore", self.lint_ignore, ignore)):
            if text is not None and not names:
                raise UsageError(f"--lint-{option} names no rule: see  assay lint --rules")
        return replace(
            section, with_run=self.lint or section.with_run, only=only or section.only, ignore=ignore or section.ignore
        )

    def lint_options(self, file: LintFileSettings | None) -> LintOptions | bool:
        """The rules that check the gold queries of the run; False: none. Raises UsageError for an unknown rule."""
        section = self.lint_section(file)
        if not section.with_run:
            for option, given in (("--lint-only", self.lint_only), ("--lint-ignore", self.lint_ignore)):
                if given is not None:
                    raise UsageError(f"{option} is for the check of gold queries: add --lint, or omit it")
            return False
        from assay.api.linting import lint_options

        return lint_options(only=section.only, ignore=section.ignore)


_OF_SEARCH = {
    name: field.setting.option
    for name, field in fields_of(WitnessFileSettings).items()
    if name != "with_run" and field.setting is not None
}
"""The settings of the search, each with its option."""
