"""The settings of a run, each declared once. What is None is left to its default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from msgspec import field
from msgspec.structs import replace

from assay.errors import InputError, UsageError, did_you_mean
from assay.model import FieldNames, Leniency, Limits
from assay.model.databases.database import ENGINES
from assay.settings.columns import CASE_COLUMNS, PREDICTION_COLUMNS
from assay.settings.live import LiveSettings
from assay.settings.sections import GateSettings, LintFileSettings, WitnessFileSettings
from assay.settings.setting import (
    ANSWERS,
    COMPARISON,
    DATABASE,
    EVIDENCE,
    GATES,
    LIMITS,
    MOST_SECONDS,
    QUESTIONS,
    RUN,
    Setting,
    fields_of,
)


def check_engine(name: str) -> None:
    """Raise InputError for what is not the name of such an engine, with the closest."""
    if name not in ENGINES:
        hint = did_you_mean(name, ENGINES)
        raise InputError(
            f"unknown engine {name!r}{hint}; question sets are for {', '.join(ENGINES)}. For one database "
            "write its URL alone; for several, a template with their names, for example "
            "'sqlite:///databases/{db_id}.sqlite' (in Python also a mapping from names to URLs)"
        )


def urls_of(db: str | dict[str, str] | None) -> list[str]:
    """The URLs of a setting that is one URL, or one for each engine."""
    return [] if db is None else [*db.values()] if isinstance(db, dict) else [db]


def one_url(db: str | dict[str, str] | None) -> str | None:
    """The one URL, for what runs on one database. Raises UsageError for several."""
    if isinstance(db, dict):
        raise UsageError("--db names a URL for each engine, and this runs on one database: give one URL")
    return db


_COLUMNS = ("case_fields", "prediction_fields")
_MEBIBYTE = 1024 * 1024
_MOST_MIB = 2**40
"""An exbibyte, as `assay.model.Limits` has it."""


class Settings(LiveSettings, frozen=True, kw_only=True):
    """The settings of a run, each None if it is left to its default."""

    cases: Annotated[
        str | None,
        Setting(None, QUESTIONS, "Question set, or a list of cases.", example="dev.jsonl"),
    ] = None
    predictions: Annotated[
        str | None,
        Setting(
            "--predictions",
            ANSWERS,
            "Predictions. Default: in CASES.",
            "FILE",
            "-p",
            example="answers.jsonl",
            meaning="Predictions. Default: in the question set.",
        ),
    ] = None
    prediction_fields: Annotated[FieldNames, PREDICTION_COLUMNS] = field(default_factory=FieldNames)
    prediction_format: Annotated[
        str | None, Setting("--prediction-format", ANSWERS, "Format of the predictions.", "NAME", example="jsonl")
    ] = None
    allow_unmatched: Annotated[
        bool | None, Setting("--allow-unmatched", ANSWERS, "Ignore predictions that match no case.")
    ] = None
    ignore_questions: Annotated[
        bool | None,
        Setting("--ignore-questions", ANSWERS, "Do not check that predictions repeat the question of their case."),
    ] = None
    extract: Annotated[
        bool | None,
        Setting(
            "--extract/--no-extract",
            ANSWERS,
            "Extract the query from a prediction with other text. [default: extract]",
            meaning="Extract the query from a prediction with other text. Default: true.",
        ),
    ] = None
    db: Annotated[
        str | dict[str, str] | None,
        Setting(
            "--db",
            DATABASE,
            "Database URL, or a template with {db_id}. ENGINE=URL for several.",
            "URL",
            example="sqlite:///shop.sqlite",
            meaning="Database URL, or a template: `sqlite:///dbs/{db_id}/{db_id}.sqlite`. For a question set for "
            "several engines a mapping: `{sqlite: URL, snowflake: URL, bigquery: URL}` (`--db sqlite=URL --db …`).",
        ),
    ] = None
    gold_db: Annotated[
        str | None,
        Setting(
            "--gold-db",
            DATABASE,
            "Database of the gold queries, if different from --db.",
            "URL",
            example="sqlite:///gold.sqlite",
            meaning="Database of the gold queries, if different from `db`.",
        ),
    ] = None
    denodo_config: Annotated[
        str | None,
        Setting(
            "--denodo-config",
            DATABASE,
            "Denodo's project_config.env. Options and the environment take precedence.",
            "FILE",
            old=("--config",),
            example="project_config.env",
        ),
    ] = None
    output: Annotated[
        str | None,
        Setting("--output", RUN, "Folder of the run. An existing run is resumed.", "RUN", "-o", example="runs/first"),
    ] = None
    name: Annotated[str | None, Setting("--name", RUN, "Name of the run.", "TEXT")] = None
    tags: Annotated[
        tuple[str, ...] | None,
        Setting(
            "--tag",
            RUN,
            "Label of the run, e.g. model=gpt-4.1. Can be repeated.",
            "TEXT",
            example="[nightly, model=gpt-4.1]",
            meaning="Labels of the run, for example `model=gpt-4.1`.",
        ),
    ] = None
    gates: Annotated[
        GateSettings | None,
        Setting(None, GATES, "Requirements for the run: [in gates](#in-gates).", example="{min: {match: 80%}}"),
    ] = None
    baseline: Annotated[
        str | None,
        Setting("--baseline", GATES, "Finished run to compare with.", "RUN", example="runs/main"),
    ] = None
    limit: Annotated[
        int | None, Setting("--limit", QUESTIONS, "Evaluate only the first N cases.", "N", least=1, example="100")
    ] = None
    case_format: Annotated[
        str | None,
        Setting(
            "--case-format",
            QUESTIONS,
            "Format of the question set, if its name does not tell.",
            "NAME",
            example="jsonl",
        ),
    ] = None
    case_fields: Annotated[FieldNames, CASE_COLUMNS] = field(default_factory=FieldNames)
    metrics: Annotated[
        tuple[str, ...] | None,
        Setting(
            "--metrics",
            COMPARISON,
            "Metrics, separated by commas; 'all' for all.",
            "NAMES",
            example="[match, bird_ex]",
            with_commas=True,
            meaning="Names of [metrics](metrics.md); `all`: those that need no timing, suite, witnesses or context. "
            "Default: those marked in the table there.",
        ),
    ] = None
    columns: Annotated[
        str | None,
        Setting(
            "--columns",
            COMPARISON,
            "Column order: 'any', or 'strict' (that of the gold query).",
            "ORDER",
            words=("any", "strict"),
        ),
    ] = None
    extra_columns: Annotated[
        str | None,
        Setting(
            "--extra-columns",
            COMPARISON,
            "Extra columns: 'allowed' accepts them.",
            "RULE",
            words=("allowed", "wrong"),
        ),
    ] = None
    duplicates: Annotated[
        str | None,
        Setting(
            "--duplicates",
            COMPARISON,
            "Duplicate rows: 'ignored' if they do not matter.",
            "RULE",
            words=("ignored", "counted"),
        ),
    ] = None
    case: Annotated[
        str | None,
        Setting(
            "--case",
            COMPARISON,
            "Letter case of text: 'ignored' if it does not matter.",
            "RULE",
            words=("ignored", "exact"),
        ),
    ] = None
    shape: Annotated[
        str | None,
        Setting(
            "--shape",
            COMPARISON,
            "Shape: 'any' accepts pivoted results and rows of totals.",
            "RULE",
            words=("any", "gold"),
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        Setting(
            "--tolerance",
            COMPARISON,
            "Relative tolerance for floats; marks matches as lenient.",
            "SHARE",
            least=0,
            example="1e-6",
        ),
    ] = None
    relative_tolerance: Annotated[
        float | None,
        Setting(
            "--relative-tolerance",
            COMPARISON,
            "Relative tolerance for floats, below 1. [default: 1e-12]",
            "SHARE",
            least=0,
            example="1e-12",
        ),
    ] = None
    absolute_tolerance: Annotated[
        float | None,
        Setting(
            "--absolute-tolerance",
            COMPARISON,
            "Absolute tolerance: smaller floats equal 0. [default: 1e-12]",
            "SIZE",
            least=0,
            example="1e-12",
        ),
    ] = None
    penalties: Annotated[
        tuple[float, ...] | None,
        Setting(
            "--penalty",
            COMPARISON,
            "Penalty of an incorrect answer in the reliability score. Can be repeated.",
            "C",
            example="[0, 10]",
            meaning="Penalties of an incorrect answer in the reliability score. Default: 0, 10, the number of cases.",
        ),
    ] = None
    """Gates use the first."""
    timing_iterations: Annotated[
        int | None,
        Setting(
            "--ves-iterations",
            COMPARISON,
            "Executions per query for ves and bird_rves. [default: 3]",
            "N",
            least=1,
            example="3",
        ),
    ] = None
    timing_budget_s: Annotated[
        float | None,
        Setting(
            "--ves-budget",
            COMPARISON,
            "Time for all measurements. [default: no limit, plus 60 for noisy pairs]",
            "TIME",
            least=0,
            most=MOST_SECONDS,
            example="60",
        ),
    ] = None
    timeout_s: Annotated[
        float | None,
        Setting(
            "--timeout",
            LIMITS,
            "Time limit per query. [default: 30]",
            "TIME",
            least=0.01,
            most=MOST_SECONDS,
            example="30",
        ),
    ] = None
    gold_timeout_s: Annotated[
        float | None,
        Setting(
            "--gold-timeout",
            LIMITS,
            "Time limit per gold query. Default: --timeout.",
            "TIME",
            least=0.001,
            most=MOST_SECONDS,
            example="60",
            meaning="Time limit per gold query. Default: `timeout_s`.",
        ),
    ] = None
    comparison_timeout_s: Annotated[
        float | None,
        Setting(
            "--comparison-timeout",
            LIMITS,
            "Time limit for comparing two results and for each metric. [default: 60]",
            "TIME",
            least=0.01,
            most=MOST_SECONDS,
            example="60",
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        Setting("--max-rows", LIMITS, "Maximum rows per result. [default: 1000000]", "N", least=1, example="1000000"),
    ] = None
    max_bytes_billed: Annotated[
        int | None,
        Setting(
            "--max-bytes-billed",
            LIMITS,
            "Maximum bytes billed per query (BigQuery). Default: no limit.",
            "N",
            least=1,
            example="10000000000",
            meaning="A query that would bill more fails; the run goes on.",
        ),
    ] = None
    max_memory_mib: Annotated[
        int | None,
        Setting(
            "--max-memory",
            LIMITS,
            "Memory of the engine per query. [default: 2048]",
            "MIB",
            least=16,
            most=_MOST_MIB,
            example="2048",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Setting(
            "--workers",
            LIMITS,
            "Worker processes (per node on a cluster). Default: one per core, up to 8.",
            "N",
            least=1,
            most=1024,
            example="4",
        ),
    ] = None
    backend: Annotated[
        str | None,
        Setting(
            "--backend",
            LIMITS,
            "Place of execution: local, ray, or ray://HOST:PORT. [default: local]",
            "NAME",
            example="local",
        ),
    ] = None
    cache: Annotated[
        str | None,
        Setting(
            "--cache",
            LIMITS,
            "Folder of executions that runs share.",
            "DIR",
            example="cache",
        ),
    ] = None
    cache_size_mib: Annotated[
        int | None,
        Setting(
            "--cache-size",
            LIMITS,
            "Maximum size of the cache. [default: 2048]",
            "MIB",
            least=1,
            most=_MOST_MIB,
            example="2048",
        ),
    ] = None
    witness: Annotated[
        bool | WitnessFileSettings | None,
        Setting(
            None,
            EVIDENCE,
            "True, or how counterexamples are searched: [in witness](#in-witness).",
            example="{time: 1s}",
        ),
    ] = None
    diagnose: Annotated[
        bool | None,
        Setting(
            "--causes/--no-causes",
            EVIDENCE,
            "Look for the causes of incorrect predictions. [default: causes]",
            meaning="Look for the [causes](../guides/causes.md) of incorrect predictions. Default: true.",
        ),
    ] = None
    suite: Annotated[
        str | None,
        Setting(
            "--suite",
            EVIDENCE,
            "Suite of small databases for the predictions.",
            "DIR",
            example="suites/dev",
            meaning="Folder of a [suite](../guides/suites.md) of small databases for the predictions.",
        ),
    ] = None
    reviews: Annotated[
        str | None,
        Setting(
            "--reviews",
            EVIDENCE,
            "People's reviews. Default: CASES' reviews.jsonl.",
            "FILE",
            example="reviews.jsonl",
            meaning="People's reviews of the questions. Default: `reviews.jsonl` in the question set's folder.",
        ),
    ] = None
    no_reviews: Annotated[
        bool | None, Setting("--no-reviews", EVIDENCE, "Ignore reviews.jsonl in the folder of CASES.")
    ] = None
    settle: Annotated[
        str | None,
        Setting(
            "--settle",
            EVIDENCE,
            "Decision if reviewers disagree: 'latest', 'majority' or a name. [default: latest]",
            "RULE",
            example="majority",
            meaning="Which decision counts if reviewers disagree: `latest`, `majority`, or the name of a reviewer.",
        ),
    ] = None
    lint: Annotated[
        LintFileSettings | None,
        Setting(
            None,
            EVIDENCE,
            "Settings of `assay lint`: [in lint](#in-lint).",
            example="{with_run: true}",
        ),
    ] = None

    def overlaid(self, other: Settings) -> Settings:
        """These settings, overridden by those that ``other`` gives, except its ``cases``."""
        given = {
            name: value
            for name in self.__struct_fields__
            if name not in ("cases", *_COLUMNS) and (value := getattr(other, name)) is not None
        }
        # Name by name: a flag that names one column keeps the other names of the file.
        return replace(
            self,
            case_fields=_overlaid(self.case_fields, other.case_fields),
            prediction_fields=_overlaid(self.prediction_fields, other.prediction_fields),
            **given,
        )

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these settings that are not left to their defaults, save what has a mapping of its own here."""
        return {name: value for name in names if (value := getattr(self, name, None)) is not None}

    def cache_bytes(self) -> int | None:
        """The bound of the cache; None: the default."""
        return None if self.cache_size_mib is None else self.cache_size_mib * _MEBIBYTE

    def leniency(self) -> Leniency:
        """What does not count as a mistake. Raises UsageError for an unknown word."""
        return Leniency(**self.given(Leniency.__struct_fields__))

    def limits(self) -> Limits:
        """The limits of every query, by default the usual ones."""
        given = self.given(("timeout_s", "max_rows", "gold_timeout_s", "comparison_timeout_s", "max_bytes_billed"))
        if self.max_memory_mib is not None:
            given["max_memory_bytes"] = self.max_memory_mib * _MEBIBYTE
        return Limits(**given)


def _overlaid(names: FieldNames, other: FieldNames) -> FieldNames:
    return replace(
        names, **{name: value for name in names.__struct_fields__ if (value := getattr(other, name)) is not None}
    )


def declarations() -> Iterator[tuple[tuple[str, ...], Setting]]:
    """Every declared setting, those of columns and sections too, with the names that lead to it in a file."""
    for name, top in fields_of(Settings).items():
        if top.setting is not None:
            yield (name,), top.setting
        if top.columns is not None:
            yield from (((name, column), setting) for column, setting in top.columns.items())
        elif top.section is not None:
            inner = fields_of(top.section).values()
            yield from (((name, field.name), field.setting) for field in inner if field.setting is not None)
