"""What an account of MySQL or MariaDB may do beyond reading, and which functions its server loaded from libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<where>\S+|`.*?`\.\S+) TO ", re.DOTALL)
_RIGHT = re.compile(r"[A-Z][A-Z_ ]*[A-Z]")
_READS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "EXECUTE", "PROXY", "SHOW_ROUTINE"})
_REACHES = {
    "FILE": "read and write files of the server",
    "SUPER": "change the server's settings and end other sessions",
    "CONNECTION ADMIN": "end other sessions",
    "CONNECTION_ADMIN": "end other sessions",
    "PROCESS": "see what other sessions run",
    "SHUTDOWN": "stop the server",
    "READ_ONLY ADMIN": "write to a server that is set to only read",
}
_ALL = "ALL PRIVILEGES"


def beyond_reading(grants: Iterable[str]) -> str:
    """What an account may do beyond reading, from the lines of SHOW GRANTS; empty where it only reads."""
    reaches: set[str] = set()
    others: set[str] = set()
    for line in grants:
        found = _GRANT.match(line)
        if found is None:  # a role granted to the account, whose own rights are in other lines
            continue
        # A right may be followed by columns in parentheses.
        rights = set(_RIGHT.findall(re.sub(r"\(.*?\)", "", found["rights"])))
        if _ALL in rights and found["where"] == "*.*":
            return "do everything, reading and writing files of the server included"
        reaches |= rights & _REACHES.keys()
        others |= rights - _REACHES.keys() - _READS
    told = [f"{meaning} ({right})" for right, meaning in _REACHES.items() if right in reaches]
    if others:
        shown = sorted(others)
        more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
        told.append(f"do more than read ({', '.join(shown[:4])}{more})")
    return "; ".join(told)


def loaded_functions(connection: Any) -> frozenset[str]:
    """The names, in lower case, of functions that the server loaded from libraries.

    Empty where the account may not see them. Functions whose names are known are refused in any case.
    """
    from sqlalchemy.exc import DBAPIError

    try:
        return frozenset(str(name).lower() for (name,) in connection.exec_driver_sql("SELECT name FROM mysql.func"))
    except DBAPIError:  # drivers raise various errors where a table may not be read
        return frozenset()
