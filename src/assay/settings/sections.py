"""The sections of a settings file: what a run must reach, and what it looks for besides its verdicts."""

from __future__ import annotations

import math
import re
from typing import Annotated

from msgspec import Struct

from assay.errors import UsageError
from assay.model.runs.gate import HEADLINE
from assay.settings.setting import EVIDENCE, GATES, LINT, Setting


class GateSettings(Struct, frozen=True, kw_only=True):
    """What a run must reach, as the file says it (docs/guides/gates.md)."""

    min: Annotated[
        dict[str, float | str] | None,
        Setting(
            "--min",
            GATES,
            "Gate: the least mean, as match=0.8 or match=80%; repeatable.",
            "METRIC=VALUE",
            example="{match: 80%}",
            meaning="The least mean of each metric, such as `{match: 0.8}` or `{match: 80%}`.",
        ),
    ] = None
    """Per metric, a number or a text such as ``80%``."""
    max_drop: Annotated[
        dict[str, float | str] | None,
        Setting(
            "--max-drop",
            GATES,
            "Gate: how far below the baseline, as match=1%; repeatable.",
            "METRIC=VALUE",
            example="{match: 1%}",
            meaning="How far each metric may be below the baseline, such as `{match: 1%}`.",
        ),
    ] = None
    fail_on_regression: Annotated[
        bool | str | tuple[str, ...],
        Setting(
            "--fail-on-regression",
            GATES,
            "Gate: not significantly worse than the baseline.",
            meaning="Not significantly worse than the baseline: true for the headline, or metrics.",
        ),
    ] = False
    """True: the headline metric."""
    alpha: Annotated[
        float | None,
        Setting("--alpha", GATES, "Of the significance of a regression. [default: 0.05]", "LEVEL", example="0.05"),
    ] = None
    must_pass: Annotated[
        str | tuple[str, ...],
        Setting(
            "--must-pass",
            GATES,
            "Gate: all right in tag:, difficulty:, database:NAME, id:ID; repeatable.",
            "SELECTOR",
            example="[tag:smoke]",
            meaning="All right in `tag:NAME`, `difficulty:NAME`, `database:NAME`, `id:ID`.",
        ),
    ] = ()
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
        """The selectors of ``must_pass`` as a tuple, also where the file has a single one."""
        return _several(self.must_pass)


class LintFileSettings(Struct, frozen=True, kw_only=True):
    """How `assay lint` looks at the question set of the file (docs/guides/lint.md)."""

    with_run: Annotated[
        bool,
        Setting(
            "--lint",
            EVIDENCE,
            "Also show what is doubtful about the gold itself, beside the verdicts.",
            meaning="Whether `assay run` shows the findings beside its verdicts, too. Default: false.",
        ),
    ] = False
    """Whether `assay run` of the file shows the findings beside its verdicts, as ``--lint`` does."""
    only: Annotated[
        tuple[str, ...],
        Setting(
            "--lint-only",
            EVIDENCE,
            "With --lint: apply these rules alone, separated by commas.",
            "RULES",
            example="[limit-over-tie]",
            with_commas=True,
            meaning="Apply these [rules](lint-rules.md) alone.",
        ),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Setting(
            "--lint-ignore",
            EVIDENCE,
            "With --lint: leave these rules out, separated by commas.",
            "RULES",
            example="[limit-over-tie]",
            with_commas=True,
            meaning="Leave these rules out.",
        ),
    ] = ()
    fail_on: Annotated[
        str | None,
        Setting(
            None,
            LINT,
            "Of `assay lint`: exit status 1 from this severity on: error, warning or note.",
            words=("error", "warning", "note"),
        ),
    ] = None
    dialect: Annotated[
        str | None,
        Setting(
            None,
            LINT,
            "Of `assay lint`: the queries' dialect, where no database says it. [default: sqlite]",
            example="sqlite",
        ),
    ] = None


class WitnessFileSettings(Struct, frozen=True, kw_only=True):
    """How `assay run` of the file looks for witnesses (docs/guides/strength.md)."""

    with_run: Annotated[
        bool,
        Setting(
            "--witness",
            EVIDENCE,
            "How sure is each match? Look for another database that parts it from gold.",
            meaning="False: only where `--witness` asks for it.",
        ),
    ] = True
    time: Annotated[
        str | float | None,
        Setting(
            "--witness-time", EVIDENCE, "Computing for each pair, as 2s or 500ms. [default: 1s]", "TIME", example="1s"
        ),
    ] = None
    total: Annotated[
        str | float | None,
        Setting(
            "--witness-total",
            EVIDENCE,
            "For all pairs, as 10m; again goes on. [default: as long as it takes]",
            "TIME",
            example="10m",
            meaning="For all pairs, as 10m. Default: as long as it takes.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Setting(
            "--witness-seed",
            EVIDENCE,
            "Of the random databases that are tried: another one, other databases. [default: 0]",
            "N",
        ),
    ] = None
    rows: Annotated[
        int | None,
        Setting(
            "--witness-rows",
            EVIDENCE,
            "What no rule decides is checked on all tables of so many rows. [default: 2]",
            "N",
        ),
    ] = None
    scratch: Annotated[
        str | None,
        Setting(
            "--scratch",
            EVIDENCE,
            "A PostgreSQL server on which schemas may be made, to try its queries there.",
            "URL",
            example="postgresql://user@host/scratch",
        ),
    ] = None


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|min|h)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


def read_duration(given: str | float, *, of: str, from_zero: bool = False) -> float:
    """Seconds from a text such as ``500ms``, ``2s``, ``10m`` or ``1h``; a number alone is seconds.

    Raises UsageError, naming ``of``, for anything else, and for 0 unless ``from_zero``.
    """
    found = _DURATION.fullmatch(str(given).strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else math.nan
    if not math.isfinite(seconds) or (seconds == 0 and not from_zero):
        least = "from 0 up" if from_zero else "above 0"
        raise UsageError(f"{of} is {given!r}: write a time {least}, such as 500ms, 2s, 10m or 1h")
    return seconds


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given
