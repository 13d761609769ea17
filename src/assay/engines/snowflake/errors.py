"""What the connector's errors mean, by Snowflake's numbers (its documentation and the connector's ``errorcode``)."""

from __future__ import annotations

import re

from assay.engines.warehouse.base import Problem
from assay.model import FailureKind

_LOGIN = {
    390100: "the user or the password is wrong, or the account does not accept passwords: use a key (private_key_file) "
    "or an access token (authenticator=PROGRAMMATIC_ACCESS_TOKEN&token=${NAME})",
    390101: "the user is locked or disabled: ask the account's administrator",
    390114: "the session has expired and could not be renewed: log in again",
    390144: "the key does not fit the user: see DESC USER, RSA_PUBLIC_KEY_FP",
    390189: "the role does not exist, or the user does not have it: see SHOW GRANTS TO USER",
    390201: "the database, schema or warehouse does not exist, or the role may not use it: names that were created in "
    "quotes keep their case",
    390303: "the token is invalid: make a new one",
    390318: "the token has expired: make a new one",
    390913: "the account is suspended: see its billing, or end of trial",
}
_NO_ACCOUNT = (
    "no account responds at this address, or it does not accept this machine: its name is ORGANIZATION-ACCOUNT, "
    "or LOCATOR.REGION"
)
_SETUP = {
    606: "no warehouse is active: add warehouse=NAME to the URL, and GRANT USAGE on it to the role",
    90: "a resource monitor has suspended the warehouse: its quota is exhausted",
    666: "the account or its warehouses are suspended: see its billing, or end of trial",
    90105: "no database is chosen: write it after the account in the URL",
    90106: "no schema is chosen: write it after the database in the URL",
    290403: _NO_ACCOUNT,
    290404: _NO_ACCOUNT,
    250003: _NO_ACCOUNT,
}
_QUERY: dict[int, FailureKind] = {630: "timeout", 604: "timeout", 300005: "out_of_memory"}
_SESSION_GONE = frozenset({390104, 390111, 390112, 390115, 390195})
_CONVERSION = 252005
"""A value that the connector cannot convert to Python."""
_NETWORK = frozenset({250001, 250002, 250005, 250006, 250007, 250011, 253003, 253005, 254007})
_NUMBER = re.compile(r"^\s*(?:\d{4,6}\s*)?(?:\([0-9A-Z]{5}\))?\s*:?\s*")
"""The connector's prefix of a message: its number and SQLSTATE."""


def explain(error: BaseException) -> Problem | None:
    """What an error of the connector means; None if its own words suffice."""
    number = getattr(error, "errno", None)
    if not isinstance(number, int):
        return None
    message = plain_message(error)
    for table in (_LOGIN, _SETUP):
        if number in table:
            return Problem(kind="unreadable_database", message=f"{table[number]} (Snowflake {number}: {message})")
    if "HTTP 403" in message and "account name" in message:
        return Problem(kind="unreadable_database", message=f"{_NO_ACCOUNT} ({message})")
    if number in _QUERY:
        return Problem(kind=_QUERY[number], message=message)
    if number in _SESSION_GONE or number in _NETWORK or "expired" in message.lower():
        if message.startswith("Could not connect"):
            message = "no service responds at this address"
        return Problem(kind="unreadable_database", message=f"{message} (Snowflake {number})", lost=True)
    if number == 3001:
        return Problem(kind="error", message=f"{message}: the role lacks a privilege")
    return Problem(kind="error", message=message) if message else None


def is_conversion_error(error: BaseException) -> bool:
    """Whether the connector cannot convert a value."""
    return getattr(error, "errno", None) == _CONVERSION


def plain_message(error: BaseException) -> str:
    """The message in one line, without the connector's number, SQLSTATE and query id before it."""
    text = str(getattr(error, "raw_msg", None) or getattr(error, "msg", None) or error)
    lines = [line.strip() for line in _NUMBER.sub("", text, count=1).splitlines() if line.strip()]
    return " ".join(lines)
