"""BigQuery: each query is a separate job, preceded by a dry run, and records its cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, TypeVar

from assay.engines import outcomes
from assay.engines.bigquery.errors import explain, unreachable
from assay.engines.bigquery.login import FORM, Address
from assay.engines.bigquery.values import reader_of
from assay.engines.reading import Column, failing, reading
from assay.engines.warehouse.base import CHECK_TIMEOUT_S, Answer, Problem, Warehouse
from assay.errors import DatabaseError
from assay.model import Cost, DatabaseSchema, DatabaseUrl, Execution, Limits, Row
from assay.model.databases.secret import masked

_LABELS = {"application": "assay"}
"""Labels of Assay's jobs in the project's job history and its bill."""
_PAGE_ROWS = 8192
_CANCEL_S = 5.0
_ROUND_TRIP_S = 5.0
"""How long beyond the time limit a request may take: the job ends by itself at the limit."""
_Answer = TypeVar("_Answer")
_BEYOND_READING = ("bigquery.tables.updateData", "bigquery.tables.update", "bigquery.tables.delete")


class BigqueryEngine(Warehouse):
    """A dataset of BigQuery: ``bigquery://project/dataset``; see `assay.engines.bigquery.login`.

    Besides fetching its result, a query takes two requests: a dry run, which is free and reports the kind of statement,
    and ``jobs.insert``, whose job can be cancelled. Rows arrive as the service's JSON, page by page.
    """

    name: ClassVar[str] = "bigquery"
    dialect: ClassVar[str] = "bigquery"
    form: ClassVar[str] = FORM
    extra: ClassVar[str] = "bigquery"
    module: ClassVar[str] = "google.cloud.bigquery"
    package: ClassVar[str] = "google-cloud-bigquery>=3.30"

    __slots__ = ("_address", "_job", "_until")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        super().__init__(url, limits)
        self._address = Address.parse(url)
        self._job: Any = None
        self._until: float | None = None

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> BigqueryEngine:
        """Like the base class. The driver is imported here, because that takes seconds that must not count as a
        query's."""
        cls.require()
        import assay.engines.bigquery.session  # noqa: F401

        return super().open(url, limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Like the base class; the dataset must exist, in the URL's location."""
        super().check(url)
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S))
        try:
            engine._check_dataset()
        finally:
            engine.close()

    @classmethod
    def version(cls) -> str:
        """The driver's version."""
        cls.require()
        from google.cloud.bigquery import __version__

        return f"google-cloud-bigquery {__version__}"

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """What the account may do beyond reading, as far as a table of the dataset shows."""
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S))
        try:
            can = engine._beyond_reading()
        finally:
            engine.close()
        if engine._address.dataset is None:
            why = "it names no dataset, so queries must write PROJECT.DATASET or DATASET before each table's name"
            return (f"{url}: {why}, and causes and lint have no schema: write {FORM}",)
        if not can:
            return ()
        advice = "use an account that may only read: assay doctor URL prints the roles"
        return (f"{url}: the account may do more than read ({', '.join(can)}): {advice}",)

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The commands that make an account a reader of this dataset, and nothing more."""
        address = Address.parse(url)
        member = "serviceAccount:assay@" + address.project + ".iam.gserviceaccount.com"
        project, _, dataset = (address.dataset or f"{address.project}.DATASET").rpartition(".")
        return (
            f"gcloud projects add-iam-policy-binding {address.project} --member={member} --role=roles/bigquery.jobUser",
            f'GRANT `roles/bigquery.dataViewer` ON SCHEMA `{project}`.`{dataset}` TO "{member}"',
        )

    @classmethod
    def estimate(
        cls, url: DatabaseUrl, queries: Sequence[str], *, timeout_s: float, max_bytes_billed: int | None = None
    ) -> Cost | None:
        """What these queries will bill, each as often as it is listed, by dry runs, which are free.

        Queries that cannot be run, or would exceed the billing limit, bill nothing. Queries beyond the time limit are
        not counted. None if the service cannot be reached.
        """
        engine = cls.open(url, Limits(timeout_s=max(1.0, timeout_s)))
        engine._until = time.monotonic() + timeout_s
        bounds = [bound for bound in (max_bytes_billed, engine._address.maximum_bytes_billed) if bound is not None]
        counts = Counter(queries)

        def dry_run(query: str) -> Cost | None:
            if engine._until is None or time.monotonic() > engine._until:
                return None
            try:
                job = engine._query(query, dry_run=True)
            except Exception as error:
                if engine._explain(error).kind == "unreadable_database":
                    engine._until = None  # any other one would fail as well
                    raise
                return Cost(queries=counts[query], bytes_billed=0)
            if job.statement_type not in ("SELECT", None):
                return None
            size = job.total_bytes_processed or 0
            return Cost(
                queries=counts[query], bytes_billed=0 if bounds and size > min(bounds) else size * counts[query]
            )

        total = Cost(queries=0, bytes_billed=0)
        try:
            engine._connection = engine._connect()
            with ThreadPoolExecutor(engine._address.requests_at_once) as threads:
                for cost in threads.map(dry_run, counts):
                    total = total.plus(cost)
            return total
        except Exception:  # noqa: BLE001 - `check` says what is wrong; a run does not need an estimate
            return None
        finally:
            engine.close()

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the dataset. Raises DatabaseError if they cannot be listed."""
        from assay.engines.bigquery.schema import read_schema

        return self._asked(lambda: read_schema(self._connection, self._address, with_values=with_values))

    # Methods for the base class.

    def _connect(self) -> Any:
        return self._address.client()

    def _run(self, query: str, *, check: bool) -> Execution:
        self._until = time.monotonic() + self._limits.timeout_s
        return super()._run(query, check=check)

    def _second_opinion(self, query: str) -> Execution | None:
        kind = self._query(query, dry_run=True).statement_type
        if kind in ("SELECT", None):  # an emulator may omit it; the service never does
            return None
        if kind == "SCRIPT":
            return outcomes.several_statements(query)
        return outcomes.failed(query, "refused", "writes", f"refused: for BigQuery it is {kind}")

    def _submit(self, query: str) -> Answer:
        self._job = None
        self._job = job = self._query(query)
        rows = job.result(
            page_size=min(_PAGE_ROWS, self._limits.max_rows + 1),
            retry=self._retry(),
            job_retry=None,
            timeout=self._limits.timeout_s + _ROUND_TRIP_S,
        )
        fields = rows.schema or ()
        return Answer(
            columns=tuple(field.name for field in fields),
            types=tuple(field.field_type for field in fields),
            fetch=_Pages(rows, fields).fetch,
            cost=Cost(bytes_billed=job.total_bytes_billed, query_id=job.job_id),
        )

    def _cancel(self) -> None:
        job, self._job = self._job, None
        if job is not None and job.state != "DONE":
            job.cancel(retry=None, timeout=_CANCEL_S)

    def _explain(self, error: BaseException) -> Problem:
        return explain(error, self._address)

    def _secrets(self) -> Sequence[str]:
        token = self._address.access_token
        return (token,) if token else ()

    # Requests.

    def _retry(self) -> Any:
        """How requests are retried after a transient error: within the time limit, if a server answers at all."""
        from google.cloud.bigquery import DEFAULT_RETRY

        def is_transient(error: Exception) -> bool:
            return unreachable(error) is None and bool(DEFAULT_RETRY._predicate(error))

        retry = DEFAULT_RETRY.with_predicate(is_transient)
        return retry.with_delay(initial=0.2, maximum=4.0).with_timeout(self._limits.timeout_s)

    def _query(self, query: str, *, dry_run: bool = False) -> Any:
        """Start a job. It ends by itself at the time limit, and cannot bill more bytes than allowed."""
        from google.cloud.bigquery import QueryJobConfig

        address = self._address
        bounds = [bound for bound in (self._limits.max_bytes_billed, address.maximum_bytes_billed) if bound is not None]
        config = QueryJobConfig(
            dry_run=dry_run or None,
            use_query_cache=address.use_query_cache and not dry_run,
            use_legacy_sql=False,
            labels=_LABELS,
            default_dataset=address.dataset,
        )
        if bounds:  # the client would write None as a text
            config.maximum_bytes_billed = min(bounds)
        if not dry_run:
            config.job_timeout_ms = max(1, round(self._limits.timeout_s * 1000))
        timeout_s = self._limits.timeout_s + _ROUND_TRIP_S
        self._connection._http.until = self._until
        return self._connection.query(query, config, retry=self._retry(), job_retry=None, timeout=timeout_s)

    def _asked(self, ask: Callable[[], _Answer]) -> _Answer:
        """The service's response. Raises DatabaseError if it cannot be reached."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection._http.until = time.monotonic() + CHECK_TIMEOUT_S
            return ask()
        except Exception as error:  # noqa: BLE001 - drivers raise what they like
            message = masked(explain(error, self._address).message, self._secrets())
            raise DatabaseError(f"{self._url} cannot be used: {message}") from None

    def _check_dataset(self) -> None:
        """Raise DatabaseError if the dataset does not exist, or is in another location than the URL says."""
        from google.api_core.exceptions import Forbidden

        address = self._address
        if address.dataset is None:
            return

        def location() -> str | None:
            with suppress(Forbidden):  # an account that may read tables need not see the dataset
                found: str | None = self._connection.get_dataset(
                    address.dataset, retry=self._retry(), timeout=CHECK_TIMEOUT_S
                ).location
                return found
            return None

        actual = self._asked(location)
        if actual and address.location and actual.lower() != address.location.lower():
            raise DatabaseError(
                f"{self._url}: the dataset {address.dataset} is in {actual}: write ?location={actual}, or omit it"
            )

    def _beyond_reading(self) -> tuple[str, ...]:
        """What the account may do to a table of the dataset besides reading it; empty if that cannot be determined."""
        address = self._address
        if address.dataset is None:
            return ()

        def ask() -> tuple[str, ...]:
            tables = self._connection.list_tables(address.dataset, max_results=1, retry=self._retry(), timeout=10.0)
            for table in tables:
                granted = self._connection.test_iam_permissions(
                    table.reference, _BEYOND_READING, retry=self._retry(), timeout=10.0
                )
                return tuple(granted.get("permissions", ()))
            return ()

        try:
            return self._asked(ask)
        except DatabaseError:
            return ()


class _Pages:
    """The pages of a result, returned in batches. A result with fewer rows than announced is an error."""

    def __init__(self, rows: Any, fields: Sequence[Any]) -> None:
        rows.item_to_value = lambda _, item: item  # the service's own JSON, not the client's conversion
        self._announced: int | None = rows.total_rows
        self._columns = [(field.name, field.field_type) for field in fields]
        self._readers = [reader_of(field) for field in fields]
        self._rows = self._read(rows)

    def _read(self, rows: Any) -> Iterator[Row]:
        count = 0
        for page in getattr(rows, "pages", ()):
            for item in page:
                count += 1
                with reading(partial(self._failing, item)):
                    row = tuple([read(cell["v"]) for read, cell in zip(self._readers, item["f"], strict=True)])
                yield row
        if self._announced is not None and count != self._announced:
            raise ConnectionError(f"the result is incomplete: {count:,} of its {self._announced:,} rows arrived")

    def _failing(self, item: Any) -> Sequence[Column]:
        readers = zip(self._readers, item["f"], strict=False)
        return failing(self._columns, [partial(read, cell["v"]) for read, cell in readers])

    def fetch(self, wanted: int) -> list[Row]:
        """The next rows, at most ``wanted``."""
        return [row for _, row in zip(range(wanted), self._rows, strict=False)]
