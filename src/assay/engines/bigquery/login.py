"""Where a BigQuery URL leads, and with which credentials: ``bigquery://project/dataset?location=EU``."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from assay.errors import DatabaseError
from assay.model import DatabaseUrl

FORM = "bigquery://PROJECT/DATASET?location=EU"
PARAMETERS = (
    "access_token",
    "allow",
    "api_endpoint",
    "credentials_path",
    "location",
    "maximum_bytes_billed",
    "quota_project",
    "use_query_cache",
)
_SCOPES = ("https://www.googleapis.com/auth/bigquery",)
_EMULATOR = "BIGQUERY_EMULATOR_HOST"
_AT_ONCE = 8
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(Struct, frozen=True, kw_only=True):
    """A BigQuery URL, taken apart."""

    project: str
    """The project that runs the queries and is billed for them."""
    dataset: str | None
    """What tables without a dataset's name belong to, with its project: ``project.dataset``. None: there is none."""
    location: str | None
    credentials_path: str | None
    access_token: str | None
    api_endpoint: str | None
    quota_project: str | None
    maximum_bytes_billed: int | None
    use_query_cache: bool

    @classmethod
    def parse(cls, url: DatabaseUrl) -> Address:
        """Read a URL. Raises DatabaseError for one that names no project, or has an unknown parameter."""
        parts = urlsplit(url.reveal())
        given = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        if unknown := sorted(given.keys() - set(PARAMETERS)):
            raise DatabaseError(f"{url}: {unknown[0]} is not a parameter of it: there is {', '.join(PARAMETERS)}")
        project, dataset = unquote(parts.netloc), unquote(parts.path.strip("/"))
        if not project or "@" in project or "/" in dataset:
            raise DatabaseError(f"{url} must name the project that is billed, and one dataset: write {FORM}")
        if dataset and "." not in dataset:
            dataset = f"{project}.{dataset}"
        bound = given.get("maximum_bytes_billed")
        if bound is not None and not (bound.isascii() and bound.isdigit()):
            raise DatabaseError(f"{url}: maximum_bytes_billed is {bound!r}: give a whole number of bytes")
        return cls(
            project=project,
            dataset=dataset or None,
            location=given.get("location") or None,
            credentials_path=given.get("credentials_path") or None,
            access_token=given.get("access_token") or None,
            api_endpoint=given.get("api_endpoint") or None,
            quota_project=given.get("quota_project") or None,
            maximum_bytes_billed=None if bound is None else int(bound),
            use_query_cache=given.get("use_query_cache", "true").lower() not in ("false", "0", "no"),
        )

    @property
    def is_emulator(self) -> bool:
        """Whether the URL leads to a server that is not Google's: one over plain HTTP needs no account."""
        return (self.api_endpoint or os.environ.get(_EMULATOR) or "").startswith("http://")

    @property
    def requests_at_once(self) -> int:
        """How many requests may run at once. bqemulator mixes up the answers of concurrent ones."""
        return 1 if self.is_emulator else _AT_ONCE

    def client(self) -> Any:
        """A client with its credentials. Raises what Google's libraries raise, DatabaseError and OSError."""
        from google.api_core.client_options import ClientOptions
        from google.cloud import bigquery

        from assay.engines.bigquery.session import TimedSession

        credentials = self._credentials()
        options = ClientOptions(api_endpoint=self.api_endpoint, quota_project_id=self.quota_project)
        return bigquery.Client(
            self.project,
            credentials=credentials,
            location=self.location,
            client_options=options,
            _http=TimedSession(credentials),  # type: ignore[no-untyped-call]
        )

    def _credentials(self) -> Any:
        """A token, a service account's key file, nothing for an emulator, or the application default credentials."""
        import google.auth
        from google.auth.credentials import AnonymousCredentials
        from google.oauth2 import service_account
        from google.oauth2.credentials import Credentials

        if self.is_emulator:
            host = urlsplit(self.api_endpoint or os.environ[_EMULATOR]).hostname
            if self.access_token is None:
                return AnonymousCredentials()  # type: ignore[no-untyped-call]
            if host not in _LOOPBACK:
                raise DatabaseError(f"the access token is not sent to {host} without encryption: write https://")
        if self.access_token is not None:
            return Credentials(self.access_token, quota_project_id=self.quota_project)  # type: ignore[no-untyped-call]
        if self.credentials_path is not None:
            return service_account.Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
                self.credentials_path, scopes=_SCOPES, quota_project_id=self.quota_project
            )
        found, _ = google.auth.default(scopes=_SCOPES, quota_project_id=self.quota_project)
        return found
