"""The question sets of defog's sql-eval: several gold queries in one text, and sets of alternative columns.

In the column ``query``:

- ``;`` separates gold queries, any of them is right;
- ``{a, b}`` in a select list stands for one or more of its columns;
- ``GROUP BY {}`` groups by the columns that were chosen.

None of this applies within literals, quoted names and comments. Each choice of columns becomes a separate gold query,
the one with all columns first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.cases.fields import normal
from assay.cases.from_records import read_cases, read_predictions
from assay.cases.records import Table
from assay.cases.tables.delimited import delimited_table
from assay.cases.text.decoding import head_of
from assay.errors import CaseFileError
from assay.model import Case, FieldNames
from assay.ports import LoadedCases, LoadedPredictions
from assay.sql.lexing import Piece, pieces

MOST_GOLDS = 256
"""Gold queries that one case may have: each is a query to run."""

_COLUMNS = frozenset({"question", "query", "dbname", "querycategory"})


class DefogFormat:
    """CSV with ``question, query, db_name, query_category`` and, if there are any, ``instructions``.

    The instructions become the case's context, the category its tag; the file has no ids, so a
    case's id is its zero-based position.
    """

    name = "defog"
    takes_encoding = True

    def recognises(self, path: Path) -> bool:
        """Whether a ``.csv`` file's header has the four columns that all of defog's have."""
        if path.suffix.lower() != ".csv" or path.is_dir():
            return False
        header = head_of(path).lstrip("\ufeff\r\n").split("\n", 1)[0]
        return {normal(name.strip(' \r"')) for name in header.split(",")} >= _COLUMNS

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read a question set. Raises CaseFileError with file, row and column."""
        return self.cases_of(delimited_table(path, fields, ()), fields)

    def holds(self, columns: Sequence[str]) -> bool:
        """Whether rows with these columns have this layout."""
        return {normal(name) for name in columns} >= _COLUMNS

    def cases_of(self, table: Table, fields: FieldNames) -> LoadedCases:
        """The cases of rows. Raises CaseFileError with row and column."""
        loaded = read_cases(replace(table, golds_in_text=False, header_hint=""), fields)
        return replace(loaded, cases=tuple(_expanded(table.path, case) for case in loaded.cases))

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read a prediction file as any CSV. Raises CaseFileError with file, row and column."""
        return read_predictions(delimited_table(path, fields, ()), fields)


def expand_golds(text: str) -> tuple[str, ...]:
    """The gold queries of a text in defog's notation, in its order and without repeats.

    Within one query, larger choices come first. Raises ValueError for unclosed braces, for ``{}`` without columns
    before it, and for more than `MOST_GOLDS` gold queries.
    """
    golds: dict[str, None] = {}
    for query in _split_queries(text):
        parts = _parts(query)
        choices = [part for part in parts if isinstance(part, _Choice)]
        count = math.prod(2 ** len(choice.columns) - 1 for choice in choices)
        if len(golds) + count > MOST_GOLDS:
            raise ValueError(
                f"its braces come to more than {MOST_GOLDS} gold queries: omit columns that no answer needs, "
                "or write the accepted queries out with ; between them"
            )
        for chosen in sorted(product(*map(_subsets, choices)), key=lambda chosen: -sum(map(len, chosen))):
            golds.setdefault(_written(parts, chosen))
    return tuple(golds)


class _Choice(Struct, frozen=True):
    """Columns in braces, as written."""

    columns: tuple[str, ...]


class _Chosen(Struct, frozen=True):
    """The empty braces: the columns chosen in the braces before them."""


def _expanded(path: Path, case: Case) -> Case:
    try:
        golds = tuple(gold for text in case.golds for gold in expand_golds(text))
    except ValueError as error:
        place = (case.origin or "").removeprefix(f"{path.name}, ")
        raise CaseFileError(f"the gold query cannot be read: {error}", path=str(path), place=place) from None
    return replace(case, golds=golds)


def _split_queries(text: str) -> Iterator[str]:
    start = 0
    signs = [piece for piece in pieces(text) if _is(piece, ";")]
    for end, following in [(piece.start, piece.end) for piece in signs] + [(len(text), len(text))]:
        query = text[start:end].strip()
        if any(True for _ in pieces(query)):  # not only comments
            yield query
        start = following


def _parts(query: str) -> list[str | _Choice | _Chosen]:
    """A query's text, split at its braces."""
    found: list[str | _Choice | _Chosen] = []
    start = 0
    opened: Piece | None = None
    within: list[Piece] = []
    for piece in pieces(query):
        if _is(piece, "{"):
            if opened is not None:
                raise ValueError(f"a brace opens within another at character {piece.start + 1}")
            found.append(query[start : piece.start])
            opened, within = piece, []
        elif _is(piece, "}"):
            if opened is None:
                raise ValueError(f"a brace closes at character {piece.start + 1} and none is open")
            columns = _columns(query, opened.end, piece.start, within)
            if not columns and not any(isinstance(part, _Choice) for part in found):
                raise ValueError(f"{{}} at character {opened.start + 1} has no columns in braces before it")
            found.append(_Choice(columns) if columns else _Chosen())
            start, opened = piece.end, None
        elif opened is not None:
            within.append(piece)
    if opened is not None:
        raise ValueError(f"the brace opened at character {opened.start + 1} is not closed")
    return [*found, query[start:]]


def _columns(query: str, start: int, end: int, within: Sequence[Piece]) -> tuple[str, ...]:
    """The text between braces, split at the commas outside parentheses."""
    depth = 0
    cuts = [start]
    for piece in within:
        depth += _is(piece, "(") - _is(piece, ")")
        if depth == 0 and _is(piece, ","):
            cuts += [piece.start, piece.end]
    cuts.append(end)
    columns = (query[first:last].strip() for first, last in zip(cuts[::2], cuts[1::2], strict=True))
    return tuple(column for column in columns if column)


def _subsets(choice: _Choice) -> Iterator[tuple[str, ...]]:
    """Every choice of one column or more, the largest first, each in the order as written."""
    for size in range(len(choice.columns), 0, -1):
        yield from combinations(choice.columns, size)


def _written(parts: Sequence[str | _Choice | _Chosen], chosen: Sequence[tuple[str, ...]]) -> str:
    following = iter(chosen)
    last: tuple[str, ...] = ()
    written: list[str] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
            continue
        if isinstance(part, _Choice):
            last = next(following)
            written.append(", ".join(last))
        else:
            written.append(", ".join(map(_without_alias, last)))
    return "".join(written)


def _without_alias(column: str) -> str:
    """``a.name AS author`` is grouped by ``a.name``."""
    found = list(pieces(column))
    if len(found) > 2 and found[-2].kind == "word" and found[-2].name == "as":
        return column[: found[-2].start].rstrip()
    return column


def _is(piece: Piece, sign: str) -> bool:
    return piece.kind == "sign" and piece.text == sign
