"""The options of a run's search for witnesses."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct

from assay.errors import UsageError
from assay.model.witness import MOST_ROWS, WitnessSettings
from assay.settings import WitnessFileSettings, read_duration


class WitnessFlags(Struct, frozen=True, kw_only=True):
    """Whether another database is looked for that parts a right answer from gold, and for how long."""

    witness: Annotated[
        bool,
        typer.Option("--witness", help="How sure is each match? Look for another database that parts it from gold."),
    ] = False
    witness_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Computing for each pair, as 2s or 500ms. [default: 1s]")
    ] = None
    witness_total: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="For all pairs, as 10m; again goes on. [default: as long as it takes]"),
    ] = None
    scratch: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A PostgreSQL server on which schemas may be made, to try its queries there."),
    ] = None

    def gathered(self, file: bool | WitnessFileSettings | None) -> WitnessSettings | None:  # noqa: FBT001 - as the file says it
        """The flags over a settings file; None where neither asks. Raises UsageError for what cannot be read."""
        told = file if isinstance(file, WitnessFileSettings) else WitnessFileSettings(with_run=bool(file))
        if not (self.witness or told.with_run):
            options = ("--witness-time", self.witness_time), ("--witness-total", self.witness_total)
            for option, given in (*options, ("--scratch", self.scratch)):
                if given is not None:
                    raise UsageError(f"{option} is for the search for witnesses: add --witness, or leave it out")
            return None
        time, total = _first(self.witness_time, told.time), _first(self.witness_total, told.total)
        default = WitnessSettings()
        rows = default.max_rows if told.rows is None else told.rows
        if not 0 <= rows <= MOST_ROWS:
            raise UsageError(f"witness, rows is {rows}: give 0 to {MOST_ROWS}")
        return WitnessSettings(
            seconds=default.seconds if time is None else read_duration(time, of=_named("time", self.witness_time)),
            total_s=None
            if total is None
            else read_duration(total, of=_named("total", self.witness_total), from_zero=True),
            seed=default.seed if told.seed is None else told.seed,
            max_rows=rows,
        )

    def server(self, file: bool | WitnessFileSettings | None) -> str | None:  # noqa: FBT001 - as the file says it
        """The URL of a server for scratch schemas; None where none is named, or no witness is looked for."""
        told = file if isinstance(file, WitnessFileSettings) else WitnessFileSettings(with_run=bool(file))
        return (self.scratch or told.scratch) if self.witness or told.with_run else None


def _first(flag: str | None, file: str | float | None) -> str | float | None:
    return file if flag is None else flag


def _named(what: str, flag: str | None) -> str:
    """Where the user wrote it."""
    return f"witness, {what}" if flag is None else f"--witness-{what}"
