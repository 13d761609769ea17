"""What the errors of BigQuery and of its client mean, in one line with the remedy."""

from __future__ import annotations

import re

from assay.engines import outcomes
from assay.engines.bigquery.login import FORM, Address
from assay.engines.warehouse.base import Problem

_LOGIN = (
    "run `gcloud auth application-default login`, or add a parameter to the URL: credentials_path, the path of a key "
    "file, or access_token, a token as ${NAME} of the environment"
)
_MOST_CAUSES = 10
_POOL = re.compile(r"HTTPS?ConnectionPool\(host='(?P<host>[^']+)', port=(?P<port>\d+)\)")
_READER = "grant roles/bigquery.jobUser on the project and roles/bigquery.dataViewer on the dataset"
_QUOTA = frozenset({"quotaExceeded", "rateLimitExceeded", "jobRateLimitExceeded", "billingTierLimitExceeded"})
_PASSING = frozenset({"backendError", "internalError", "jobBackendError", "jobInternalError", "badGateway"})
_TABLE = re.compile(r"Table (?P<dataset>[\w.:-]+[:.]\w+)\.[\w$*-]+")
_DATASET = re.compile(r"[Dd]ataset[ :](?P<dataset>[\w.:-]+[:.]\w+)")
_PLACE = re.compile(r"\b(?:in|available in) location (?P<location>[\w-]+)")


def explain(error: BaseException, address: Address) -> Problem:
    """What an error of the client means."""
    import concurrent.futures

    import requests.exceptions
    from google.api_core import exceptions
    from google.auth import exceptions as auth

    if (why := unreachable(error)) is not None:
        return _lost(f"{why}: check {'api_endpoint in the URL and ' if address.api_endpoint else ''}the network")
    if isinstance(error, exceptions.RetryError) and error.cause is not None:
        return explain(error.cause, address)
    if isinstance(error, auth.RefreshError):
        return _setup(f"the credentials have expired or were revoked: {_LOGIN} ({_message(error)})")
    if isinstance(error, auth.DefaultCredentialsError | auth.MalformedError | OSError) and not isinstance(
        error, requests.exceptions.RequestException | ConnectionError | TimeoutError
    ):
        return _setup(f"there are no usable credentials ({_message(error)}): {_LOGIN}")
    if isinstance(error, auth.TransportError | requests.exceptions.RequestException | ConnectionError):
        return _lost(f"BigQuery cannot be reached: {_message(error)}")
    if isinstance(error, TimeoutError | concurrent.futures.TimeoutError):
        return Problem(kind="timeout", message=_message(error))
    if isinstance(error, exceptions.GoogleAPICallError):
        return _of_service(error, address)
    return Problem(kind="error", message=_message(error))


def unreachable(error: BaseException) -> str | None:
    """Why no server answers at an address; None if one may answer the next request."""
    causes: list[str] = []
    following: BaseException | None = error
    while following is not None and len(causes) < _MOST_CAUSES:
        causes.append(f"{type(following).__name__}: {following}")
        following = following.__cause__ or following.__context__
    chain = " ".join(causes)
    found = _POOL.search(chain)
    if found is None:
        return None
    if "NameResolutionError" in chain:
        return f"there is no host {found['host']}"
    if "Connection refused" in chain:
        return f"no server responds at {found['host']}:{found['port']} (connection refused)"
    return None


def _of_service(error: object, address: Address) -> Problem:
    """What an error response means, by its reason."""
    reason, message, status = _reason(error), _message(error), getattr(error, "code", None) or 0
    if status == 401:
        return _setup(f"BigQuery rejects the credentials, which may have expired: {_LOGIN} ({message})")
    if reason == "bytesBilledLimitExceeded" or "exceeded limit for bytes billed" in message:
        return Problem(kind="billing_limit", message=f"it would exceed the limit for billed bytes: {message}")
    if reason in _QUOTA or status == 429:
        return _setup(f"a quota of the project {address.project} is exhausted: {message}")
    if reason in ("billingNotEnabled", "accountDisabled"):
        return _setup(f"the project {address.project} has no active billing account: {message}")
    if reason in ("stopped", "timeout") or status == 499:
        kind = "timeout" if "timed out" in message.lower() or reason == "timeout" else "unreadable_database"
        return Problem(kind="timeout", message=message) if kind == "timeout" else _lost(f"it was cancelled: {message}")
    if reason in _PASSING or status >= 500:
        return _lost(f"BigQuery failed: {message}")
    if reason == "accessDenied" or (status == 403 and reason in ("", "forbidden")):
        return _denied(message, address)
    if status == 404 or reason == "notFound":
        return _not_found(message, address)
    return Problem(kind="error", message=message)


def _denied(message: str, address: Address) -> Problem:
    """A right that the account lacks. For a table elsewhere it is the query's own mistake: the table may not exist
    either."""
    told = f"{message.rstrip('.')}: {_READER}"
    table = _TABLE.search(message)
    elsewhere = table is not None and table["dataset"].replace(":", ".") != address.dataset
    return Problem(kind="error", message=message) if elsewhere else _setup(told)


def _not_found(message: str, address: Address) -> Problem:
    """What does not exist: the URL's project or dataset, or something that the query names."""
    dataset = None if "Table " in message else _DATASET.search(message)
    if dataset is not None and dataset["dataset"].replace(":", ".") == address.dataset:
        place = _PLACE.search(message)
        hint = f" in the location {place['location']}, or write ?location= with the dataset's location" if place else ""
        return _setup(f"the dataset {address.dataset} does not exist{hint} ({message}): write {FORM}")
    if f"Project {address.project}" in message or f"project {address.project}" in message.replace('"', ""):
        return _setup(f"the project {address.project} does not exist ({message}): write {FORM}")
    return Problem(kind="error", message=message)


def _setup(message: str) -> Problem:
    return Problem(kind="unreadable_database", message=message)


def _lost(message: str) -> Problem:
    return Problem(kind="unreadable_database", message=message, lost=True)


def _reason(error: object) -> str:
    errors = getattr(error, "errors", None) or ()
    return str(errors[0].get("reason") or "") if errors and isinstance(errors[0], dict) else ""


def _message(error: BaseException | object) -> str:
    """The service's own sentence, without the client's additions."""
    errors = getattr(error, "errors", None) or ()
    if errors and isinstance(errors[0], dict) and errors[0].get("message"):
        text = str(errors[0]["message"])
    else:
        text = getattr(error, "message", None) or outcomes.first_line(error)  # type: ignore[arg-type]
    return str(text).strip().split("\n", 1)[0].strip() or type(error).__name__
