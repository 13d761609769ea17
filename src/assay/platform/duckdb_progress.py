"""DuckDB without its progress bars, which it draws where it takes a program for an interactive one."""

from __future__ import annotations

from typing import Any


def without_progress_bar(connection: Any) -> None:
    """Turn off the progress bar of a connection, whatever stands on the terminal.

    It is asked first: in a notebook without ipywidgets there is no bar, and to say so is an error there.
    """
    found = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if found is None or found[0]:
        connection.execute("SET enable_progress_bar = false")
