"""The sections of a settings file: what a run must reach, and what it looks for besides its verdicts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from assay.model.runs.gate import HEADLINE
from assay.settings.setting import EVIDENCE, GATES, LINT, MOST_SECONDS, Setting


class GateSettings(Struct, frozen=True, kw_only=True):
    """Requirements for a run (`assay docs gates`)."""

    min: Annotated[
        dict[str, float | str] | None,
        Setting(
            "--min",
            GATES,
            "Minimum of a metric, e.g. match=80%; repeatable.",
            "METRIC=VALUE",
            example="{match: 80%}",
            meaning="Minimum of each metric, for example `{match: 0.8}` or `{match: 80%}`.",
        ),
    ] = None
    """Per metric, a number or a text e.g. ``80%``."""
    max_drop: Annotated[
        dict[str, float | str] | None,
        Setting(
            "--max-drop",
            GATES,
            "Maximum drop below the baseline, e.g. match=1%. Can be repeated.",
            "METRIC=VALUE",
            example="{match: 1%}",
            meaning="Maximum drop of each metric below the baseline, for example `{match: 1%}`.",
        ),
    ] = None
    fail_on_regression: Annotated[
        bool | str | tuple[str, ...],
        Setting(
            "--fail-on-regression",
            GATES,
            "Fail if significantly worse than the baseline.",
            meaning="Fail if significantly worse than the baseline: true for the headline metric, or metrics.",
        ),
    ] = False
    """True: the headline metric."""
    alpha: Annotated[
        float | None,
        Setting("--alpha", GATES, "Significance level of a regression. [default: 0.05]", "LEVEL", example="0.05"),
    ] = None
    must_pass: Annotated[
        str | tuple[str, ...],
        Setting(
            "--must-pass",
            GATES,
            "Cases that must be correct: tag:NAME, difficulty:, database:, id:. Can be repeated.",
            "SELECTOR",
            example="[tag:smoke]",
            meaning="Cases that must be correct: `tag:NAME`, `difficulty:NAME`, `database:NAME`, `id:ID`.",
        ),
    ] = ()
    max_unscored: Annotated[
        float | str | None,
        Setting(
            "--max-unscored",
            GATES,
            "Maximum share of unscored cases, e.g. 5%.",
            "SHARE",
            example="5%",
            meaning="Maximum share of unscored cases, for example `5%`; fewer transient errors do not fail the run.",
        ),
    ] = None
    origin: str | None = None
    """The file, for messages; not read from it."""

    @property
    def regression_metrics(self) -> tuple[str, ...]:
        """The metrics, or ``headline`` for the headline metric."""
        if isinstance(self.fail_on_regression, bool):
            return (HEADLINE,) if self.fail_on_regression else ()
        return _several(self.fail_on_regression)

    @property
    def selectors(self) -> tuple[str, ...]:
        """The selectors of ``must_pass`` as a tuple, also if the file has a single one."""
        return _several(self.must_pass)


class LintFileSettings(Struct, frozen=True, kw_only=True):
    """Settings of `assay lint` (`assay docs lint`)."""

    with_run: Annotated[
        bool,
        Setting(
            "--lint",
            EVIDENCE,
            "Check the gold queries, too.",
            meaning="Show the findings with the verdicts of `assay run`. Default: false.",
        ),
    ] = False
    """Whether `assay run` of the file shows the findings with its verdicts, as ``--lint`` does."""
    only: Annotated[
        tuple[str, ...],
        Setting(
            "--lint-only",
            EVIDENCE,
            "Rules of --lint, separated by commas. Default: all.",
            "RULES",
            example="[limit-over-tie]",
            with_commas=True,
            meaning="[Rules](lint-rules.md) to apply. Default: all.",
        ),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Setting(
            "--lint-ignore",
            EVIDENCE,
            "Rules that --lint leaves out, separated by commas.",
            "RULES",
            example="[limit-over-tie]",
            with_commas=True,
            meaning="[Rules](lint-rules.md) to leave out.",
        ),
    ] = ()
    fail_on: Annotated[
        str | None,
        Setting(
            None,
            LINT,
            "Severity at which `assay lint` ends with status 1: error, warning or note.",
            words=("error", "warning", "note"),
        ),
    ] = None
    dialect: Annotated[
        str | None,
        Setting(
            None,
            LINT,
            "Dialect of the queries for `assay lint` without a database. [default: sqlite]",
            example="sqlite",
        ),
    ] = None


class WitnessFileSettings(Struct, frozen=True, kw_only=True):
    """Settings of the search for counterexamples (`assay docs strength`)."""

    with_run: Annotated[
        bool,
        Setting(
            "--witness",
            EVIDENCE,
            "Search for counterexamples of the matches.",
            meaning="False: only with `--witness`. Default: true.",
        ),
    ] = True
    time: Annotated[
        float | None,
        Setting(
            "--witness-time",
            EVIDENCE,
            "CPU time per pair. [default: 1s]",
            "TIME",
            least=0.001,
            most=MOST_SECONDS,
            example="1s",
        ),
    ] = None
    total: Annotated[
        float | None,
        Setting(
            "--witness-total",
            EVIDENCE,
            "CPU time for all pairs. [default: no limit]",
            "TIME",
            least=0,
            most=MOST_SECONDS,
            example="10m",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Setting(
            "--witness-seed",
            EVIDENCE,
            "Seed of the databases that are tried. [default: 0]",
            "N",
        ),
    ] = None
    rows: Annotated[
        int | None,
        Setting(
            "--witness-rows",
            EVIDENCE,
            "Rows per table for the check with z3. [default: 2]",
            "N",
        ),
    ] = None
    scratch: Annotated[
        str | None,
        Setting(
            "--scratch",
            EVIDENCE,
            "PostgreSQL server on which Assay may create schemas.",
            "URL",
            example="postgresql://user@host/scratch",
        ),
    ] = None


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given
