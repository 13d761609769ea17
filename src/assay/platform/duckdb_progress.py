"""DuckDB without progress bars, which it draws if it takes a program for an interactive one."""

from __future__ import annotations

from typing import Any


def without_progress_bar(connection: Any) -> None:
    """Turn off the progress bar of a connection, whether or not there is a terminal.

    The setting is read first: in a notebook without ipywidgets there is no bar, and turning it off is an error there.
    """
    ((is_shown,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if is_shown:
        connection.execute("SET enable_progress_bar = false")
