"""Score a run's answers by corrected gold queries, one at a time: what a reviewer sees before a correction is saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock

from assay.api.single import CaseChecker
from assay.api.workers import DatabasesInput, check_databases, locator
from assay.errors import InputError
from assay.model import Case, ComparisonOptions, DatabaseUrl, Evidence, RunSettings
from assay.model.databases.secret import MASK
from assay.platform.surface import option
from assay.runs.plan import url_of
from assay.runs.reviews.finding import bases

_NAMED = re.compile(r"(?:^|, )(?P<name>[^:,\s]+): (?P<url>[A-Za-z][\w+.-]*:.*?)(?=, [^:,\s]+: [A-Za-z][\w+.-]*:|$)")
"""One of several databases, as the settings of a run name them (`assay.api.workers.locator`)."""
_FILES = ("sqlite", "duckdb")


class GoldTrials:
    """Scores an answer again by a corrected case, read-only and under the run's limits, in a worker process.

    The worker starts with the first answer. ``databases`` stands in for those that the run names; ``complete`` puts
    credentials into a URL that has none. For many threads.
    """

    def __init__(
        self,
        settings: RunSettings,
        folder: Path,
        *,
        databases: DatabasesInput | None = None,
        complete: Callable[[DatabaseUrl], DatabaseUrl] | None = None,
    ) -> None:
        self._settings, self._folder, self._given = settings, folder, databases
        self._complete = complete
        self._lock = Lock()
        self._checker = CaseChecker()
        self._options = ComparisonOptions(
            columns="strict" if settings.columns == "strict" else "any",
            relative_tolerance=settings.relative_tolerance,
            absolute_tolerance=settings.absolute_tolerance,
            leniency=settings.leniency,
        )

    def score(self, evidence: Evidence, case: Case) -> Evidence:
        """The evidence of the answer by another form of its case. A query that fails is part of it.

        Raises InputError for a selection, and if the database is not known or cannot be read.
        """
        if case.turns:
            raise InputError("only queries are scored again here, and this case has a target selection")
        url, gold_url = self._url(case, self._given or self._settings.database), None
        if self._settings.gold_database is not None:
            gold_url = self._url(case, self._settings.gold_database)
        with self._lock:
            found, _ = self._checker.score(
                case,
                evidence.prediction,
                url,
                gold_url=gold_url,
                options=self._options,
                limits=self._settings.limits,
            )
        return found

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._checker.close()

    def _url(self, case: Case, databases: DatabasesInput) -> DatabaseUrl:
        if not databases:
            raise InputError(f"the run names no database: give one with {option('--db', 'URL')}")
        if isinstance(databases, str):
            named = {found["name"]: found["url"] for found in _NAMED.finditer(databases)}
            databases = named or databases
        url = url_of(case, locator(databases)[0])
        url = url if self._complete is None else self._complete(url)
        if MASK in url.text:
            variables = "set ASSAY_USER and ASSAY_PASSWORD, or " if url.scheme.startswith("denodo") else ""
            raise InputError(
                f"the run names its database without the password: {variables}start again with  "
                f"{option('--db', url.text)}  and the password in place of {MASK}"
            )
        url = self._from_here(url)
        try:
            check_databases([url], {})
        except InputError as error:
            hint = (
                ""
                if isinstance(self._given, Mapping) or self._given
                else f": if it has moved, start again with {option('--db', 'URL')}"
            )
            raise InputError(f"{error}{hint}") from error
        return url

    def _from_here(self, url: DatabaseUrl) -> DatabaseUrl:
        """A database file whose path is relative, found from the folder that the run was made in."""
        if url.scheme not in _FILES or Path(url.path).is_absolute() or Path(url.path).exists():
            return url
        paths = (base / url.path for base in bases(self._folder))
        return next((url.with_path(str(path)) for path in paths if path.exists()), url)
