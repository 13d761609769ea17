"""Keep what Assay parses out of the log of the parser."""

from __future__ import annotations

import logging
import sys

_PACKAGE = __name__.partition(".")[0]
_LOGGER = "sqlglot"


class _WithoutOwnTexts(logging.Filter):
    """Drops what sqlglot logs when Assay calls it, and lets through what other callers cause.

    sqlglot logs the text of each statement that it only half understands. A system's answer may repeat a password,
    which only the connection to that system could mask.
    """

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - as logging calls it
        """Whether to log the record."""
        frame = sys._getframe()
        while (frame := frame.f_back) is not None:  # type: ignore[assignment]
            if frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
                return False
        return True


_FILTER = _WithoutOwnTexts()


def keep_quiet() -> None:
    """Log nothing of what Assay parses. May be called any number of times."""
    logging.getLogger(_LOGGER).addFilter(_FILTER)
