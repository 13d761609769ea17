"""The worker's side of a lint: each worker process applies the rules to one case at a time, with its database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.missing import shown_engine
from assay.errors import DatabaseError
from assay.linting.apply import GoldLint, OtherAnswer, lint_gold
from assay.linting.gold import GoldDatabase
from assay.model import Case, ComparisonOptions, DatabaseUrl, Prediction
from assay.model.lint import LintOptions
from assay.model.witness import Refutation
from assay.runs.workers.known_schemas import KnownSchemas
from assay.runs.workers.trials import ExecutorSettings
from assay.sql.schema import SchemaNames

if TYPE_CHECKING:
    from assay.runs.workers.witness_worker import WitnessWorker
    from assay.scoring.queries.scorer import QueryScorer

QUERY_CONTRADICTS_RESULT = "query-contradicts-result"
_WITNESS_SECONDS = 0.5
"""Computing for each pair of gold queries."""
LINT_SETUP = "assay.runs.workers.lint_worker:set_up"


class LintWorkerSettings(ExecutorSettings, frozen=True, kw_only=True):
    """What every worker of a lint needs to know."""

    options: LintOptions
    dialect: str
    """Dialect of the queries, if there is no database that has one."""


class LintTask(Struct, frozen=True, kw_only=True):
    """One case to look at."""

    case: Case
    url: DatabaseUrl | None
    others: tuple[OtherAnswer, ...] = ()


def set_up(settings: LintWorkerSettings) -> LintWorker:
    """Set up one worker: its databases open when first needed."""
    from assay.linting.catalogue import catalogue
    from assay.sql import warm_up

    warm_up()
    catalogue()
    return LintWorker(settings)


class LintWorker:
    """Lints a task's case. Schemas, values of columns and results are kept from case to case."""

    def __init__(self, settings: LintWorkerSettings) -> None:
        self._settings = settings
        self._executor = settings.executor()
        self._schemas = KnownSchemas(self._executor)
        self._databases: dict[str, GoldDatabase | str] = {}
        self._witnesses: WitnessWorker | None = None
        self._scorer: QueryScorer | None = None

    def __call__(self, task: object) -> GoldLint:
        assert isinstance(task, LintTask)
        found = None if task.url is None else self._database(task.url)
        database = found if isinstance(found, GoldDatabase) else None
        done = lint_gold(
            task.case,
            self._settings.options,
            dialect=self._settings.dialect if database is None else database.dialect,
            names=None if database is None else database.names,
            database=database,
            others=task.others,
        )
        if isinstance(found, str):
            return replace(done, gaps=(*done.gaps, ("database", found)))
        if task.url is not None and self._settings.options.applies(QUERY_CONTRADICTS_RESULT):
            contradiction = self._contradiction(task.case, task.url)
            done = replace(done, golds=replace(done.golds, contradiction=contradiction))
        return done

    def _contradiction(self, case: Case, url: DatabaseUrl) -> str | None:
        """How the query that is said to give the case's results contradicts them, compared as a prediction is."""
        from assay.scoring.queries.scorer import QueryScorer

        if case.result_query is None or not case.results:
            return None
        if self._scorer is None:  # few question sets have both
            self._scorer = QueryScorer(self._executor, (), ComparisonOptions(), limits=self._settings.limits)
        prediction = Prediction(case_id=case.id, query=case.result_query)
        verdict = self._scorer.score(case, prediction, url).evidence.verdict
        if verdict.outcome != "incorrect":
            return None
        if verdict.failure is None:
            return f"The gold query gives none of the expected results (predicted is the query's): {verdict.reason}"
        wrong = verdict.failure.kind in ("error", "refused", "writes", "no_query", "several_statements")
        return f"The gold query of these results fails: {verdict.failure.message}" if wrong else None

    def _part(self, url: DatabaseUrl, first: str, second: str) -> Refutation:
        from assay.runs.workers.witness_worker import WitnessTask, WitnessWorker, WitnessWorkerSettings

        if self._witnesses is None:  # few question sets have several gold queries of a case
            settings = self._settings
            self._witnesses = WitnessWorker(
                WitnessWorkerSettings(
                    engines=settings.engines, limits=settings.limits, cache_bytes=settings.cache_bytes // 4
                )
            )
        return self._witnesses(WitnessTask(first=first, second=second, url=url, seconds=_WITNESS_SECONDS, max_rows=0))

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._executor.close()
        if self._witnesses is not None:
            self._witnesses.close()

    def _database(self, url: DatabaseUrl) -> GoldDatabase | str:
        """The database with its schema, or why it cannot be read."""
        found = self._databases.get(url.text)
        if url.scheme == "missing":
            found = f"no database is given for {shown_engine(url.path)} (--db {url.path}=URL)"
        if found is None:
            try:
                schema = self._schemas.read(url)
                if schema is None:  # nothing has been asked of the database yet
                    self._executor.check(url)
                names = None if schema is None else SchemaNames(schema)
                found = GoldDatabase(
                    self._executor, url, names, self._settings.limits, part=lambda *golds: self._part(url, *golds)
                )
            except DatabaseError as error:
                found = str(error)
            self._databases[url.text] = found
        return found
