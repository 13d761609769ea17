"""Databases, named by URL everywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from assay.errors import InputError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):(//)?(.*)$", re.DOTALL)
_USER_INFO = re.compile(r"(?P<before>(?:[A-Za-z][A-Za-z0-9+.\-]*://)?(?!/)[^:]*):(?P<password>[^?]*|.*)@", re.DOTALL)
"""Up to the last @: a password may hold any sign, written properly or not."""
_SECRET_PARAMETER = re.compile(
    r"(?P<name>[?&;\s][\w.\-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_\-]?key|credentials?))=(?P<value>[^&;\s]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DatabaseUrl:
    """A database URL or a template of one, such as ``sqlite:///data/{db_id}.sqlite``.

    ``str()`` gives the URL with its password masked; ``reveal()`` the URL as it is.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """Read a URL. Raises InputError where it has no scheme, with what was expected."""
        if not _SCHEME.match(text.strip()):
            raise InputError(
                f"{_masked(text)!r} is no database URL: write sqlite:///path/to/file.sqlite, "
                "duckdb:///path/to/file.duckdb or another URL with a scheme"
            )
        return cls(text=text.strip())

    @property
    def scheme(self) -> str:
        """What stands before the first colon, in lower case: it names the engine."""
        return self.text.split(":", 1)[0].lower()

    @property
    def is_template(self) -> bool:
        """Whether it holds ``{db_id}``, so that each case's database fills it in."""
        return "{db_id}" in self.text

    def render(self, db_id: str | None) -> DatabaseUrl:
        """The URL of one database. Raises InputError where a template meets a case without a database."""
        if not self.is_template:
            return self
        if db_id is None:
            raise InputError(f"{self} needs a db_id for each case, and this case has none")
        return DatabaseUrl(text=self.text.replace("{db_id}", quote(db_id, safe=" ._-")))

    @property
    def path(self) -> str:
        """The file path of a file URL: ``sqlite:///a/b`` is ``a/b``, ``sqlite:////a/b`` is ``/a/b``.

        ``sqlite://`` and ``sqlite:///:memory:`` name no file and give ``:memory:``.
        """
        rest = self.text.split(":", 1)[1]
        rest = rest.removeprefix("//").removeprefix("/").split("?", 1)[0]
        return unquote(rest) or ":memory:"

    def reveal(self) -> str:
        """The URL with its password, for the driver alone."""
        return self.text

    def __str__(self) -> str:
        return _masked(self.text)

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"


def _masked(text: str) -> str:
    """The text without what may be a password: before an @, or in a parameter whose name says so."""
    found = _USER_INFO.match(text)
    is_path = found is not None and "://" not in found["before"] and found["password"].startswith("/")
    if found is not None and not is_path:
        text = f"{found['before']}:***@{text[found.end() :]}"
    return _SECRET_PARAMETER.sub(lambda found: f"{found['name']}=***", text)
