"""Target and credentials of a BigQuery URL: ``bigquery://project/dataset?location=EU``."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from assay.engines.url_parts import Reader, address, file, flag, read_url, text, whole
from assay.errors import DatabaseError
from assay.model import DatabaseUrl

FORM = "bigquery://PROJECT/DATASET?location=EU"
_PARAMETERS: dict[str, Reader] = {
    "access_token": text,
    "api_endpoint": address,
    "credentials_path": file,
    "location": text,
    "maximum_bytes_billed": whole,
    "quota_project": text,
    "use_query_cache": flag,
}
_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[A-Za-z][\w-]*", re.ASCII)
"""The name of a project, which may be preceded by its organisation's domain."""
_DATASET = re.compile(rf"(?:{_PROJECT.pattern}\.)?\w+")
_SCOPES = ("https://www.googleapis.com/auth/bigquery",)
_EMULATOR = "BIGQUERY_EMULATOR_HOST"
_AT_ONCE = 8
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(Struct, frozen=True, kw_only=True):
    """A parsed BigQuery URL."""

    project: str
    """The project that runs the queries and is billed for them."""
    dataset: str | None
    """The dataset of unqualified tables, with its project: ``project.dataset``; or None."""
    location: str | None
    credentials_path: str | None
    access_token: str | None
    api_endpoint: str | None
    quota_project: str | None
    maximum_bytes_billed: int | None
    use_query_cache: bool

    @classmethod
    def parse(cls, url: DatabaseUrl) -> Address:
        """Read a URL. Raises DatabaseError for one without a project, or with an unknown parameter."""
        parts = read_url(url, _PARAMETERS, form=FORM, path=("one dataset",), has_host=False)
        given = parts.parameters
        project, dataset = unquote(parts.split.netloc), parts.names[0] if parts.names else None
        if not _PROJECT.fullmatch(project):
            raise DatabaseError(
                f"{url}: the URL must begin with the project that is billed, without user and port: write {FORM}"
            )
        if dataset is not None and not _DATASET.fullmatch(dataset):
            raise DatabaseError(
                f"{url}: the path is not the name of a dataset, or of one in another project as PROJECT.DATASET: "
                f"write {FORM}"
            )
        if "access_token" in given and "credentials_path" in given:
            raise DatabaseError(f"{url}: access_token and credentials_path exclude each other: omit one of the two")
        if dataset is not None and "." not in dataset:
            dataset = f"{project}.{dataset}"
        return cls(
            project=project,
            dataset=dataset,
            location=given.get("location"),
            credentials_path=given.get("credentials_path"),
            access_token=given.get("access_token"),
            api_endpoint=given.get("api_endpoint"),
            quota_project=given.get("quota_project"),
            maximum_bytes_billed=given.get("maximum_bytes_billed"),
            use_query_cache=given.get("use_query_cache", True),
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
        from google.auth.exceptions import MalformedError
        from google.oauth2 import service_account
        from google.oauth2.credentials import Credentials

        key = None
        if self.credentials_path is not None:
            try:
                key = service_account.Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
                    self.credentials_path, scopes=_SCOPES, quota_project_id=self.quota_project
                )
            except (OSError, ValueError, TypeError, AttributeError, MalformedError) as error:
                why = f"the credentials_path {self.credentials_path!r} is not a service account's key file"
                raise DatabaseError(f"{why} ({error}): write the path of the JSON file that was downloaded") from None
        if self.is_emulator:
            host = urlsplit(self.api_endpoint or os.environ[_EMULATOR]).hostname
            if self.access_token is None:
                return AnonymousCredentials()  # type: ignore[no-untyped-call]
            if host not in _LOOPBACK:
                raise DatabaseError(f"the access token is not sent to {host} without encryption: write https://")
        if self.access_token is not None:
            return Credentials(self.access_token, quota_project_id=self.quota_project)  # type: ignore[no-untyped-call]
        if key is not None:
            return key
        found, _ = google.auth.default(scopes=_SCOPES, quota_project_id=self.quota_project)
        return found
