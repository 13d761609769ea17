"""Which columns of gold's count, as places in each gold's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cases.fields import did_you_mean, listed, normal
from assay.cases.options import CountedColumns
from assay.cases.records import Record
from assay.errors import CaseFileError
from assay.model import GivenResult


def counted_places(
    columns: CountedColumns, queries: int, results: Sequence[GivenResult], path: Path, record: Record
) -> tuple[tuple[int, ...], ...]:
    """The columns that count, per gold, as places. Raises CaseFileError for a name that a result does not have."""
    golds = queries + len(results)
    groups = columns.groups * golds if columns.for_all else columns.groups
    if len(groups) != golds and not columns.for_all:
        raise CaseFileError(
            f"condition_columns has {len(groups)} lists, and the case has {golds} golds: give one list for each, or "
            "one list of columns for all",
            path=str(path),
            place=record.place,
        )
    found = []
    for place, group in enumerate(groups):
        names = results[place - queries].columns if place >= queries else ()
        known = {normal(name): at for at, name in reversed(list(enumerate(names)))}
        chosen: list[int] = []
        for one in group:
            at = one if isinstance(one, int) else known.get(normal(one))
            if at is None:
                hint = did_you_mean(str(one), names)
                there = listed(names) if names else "names only of results that have some: give its place, from 0"
                raise CaseFileError(
                    f'condition_columns names "{one}"{hint}: there is {there}', path=str(path), place=record.place
                )
            chosen.append(at)
        found.append(tuple(chosen))
    return tuple(found)
