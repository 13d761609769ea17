"""Pairs of CSV texts by chance: mostly of the same columns, mostly alike, with everything a cell can be."""

from __future__ import annotations

from random import Random
from typing import Any

ABSENT = ["", "", "NULL", "nan", "None", "N/A", "<NA>", "n/a", "NA"]
POOLS = {
    "integers": ["-3", "0", "1", "2", "3", "10", "007", "+5", "-0"],
    "floats": ["1", "1.0", "0.1", "0.10", "-0.0", "0", "1e3", "1000", "inf", "-INF", "1.", ".5", "5E-1"],
    "nearly equal": ["0.30000000000000004", "0.3", "1e-5", "0.00001", "1", "0.3000000000000000"],
    "long floats": ["3.3000000000000003", "1e16", "1e308", "1e-320", "1.7976931348623157e308", "123456.789012345678"],
    "truths": ["True", "False", "true", "FALSE", "TRUE"],
    "truths and others": ["True", "False", "1", "0", "yes", "1.0"],
    "dates": ["2017-01-01", "2017-01-02", "2017-01-01 00:00:00", "01/02/2017", "2017"],
    "texts": ["a", "A", " a", "b ", "x,y", 'q"q', "two\nlines", "é", "1_000", "NAN", "0x1", "+", "١", "Infinity!"],
    "spaced numbers": [" 1", "1 ", "\t2", "2", " inf", "  1.5", " nan"],
    "anything": ["1", "1.0", "1.5", "2", "True", "x", "2017-01-01", "unknown", "2.50", "3", "3.0", "1e3", "1000"],
}
HUGE = {
    "huge integers": [str(sign * (2**bits + more)) for sign in (1, -1) for bits in (53, 63, 64) for more in (-1, 0, 1)],
    "huge floats": ["1", "1e309", "1e400", "-1e400", "2.5", "0e400", "1e-700", "1e-400"],
}
STRAYS = ["unknown", "x", "1.5", "True", "", "99999999999999999999", "2017-01-01"]
NAMES = ["a", "b", "C", "d", " e"]


def pair(chance: Random, *, huge: bool = True) -> tuple[str, str]:
    pools = POOLS | (HUGE if huge else {})
    sizes = chance.randint(0, 6), chance.randint(0, 6)
    if chance.random() < 0.5:
        sizes = (sizes[0], sizes[0])
    common = {name: _column(chance, pools, max(sizes), huge=huge) for name in NAMES}
    texts = []
    for size in sizes:
        count = chance.randint(1, len(NAMES))
        names = chance.sample(NAMES, count) if chance.random() < 0.4 else NAMES[:count]
        columns = [_varied(chance, pools, common[name][:size], huge=huge) for name in names]
        spelt = [name.swapcase() if chance.random() < 0.2 else name for name in names]
        if count > 1 and chance.random() < 0.05:
            spelt[1] = spelt[0]
        texts.append(_text(chance, spelt, columns, size))
    return texts[0], texts[1]


def options(chance: Random) -> dict[str, Any]:
    """What datacompy can be told, and ragas cannot; mostly nothing."""
    if chance.random() < 0.7:
        return {}
    return {
        "abs_tol": chance.choice([0, 1e-9, 0.1, 1, 1000]),
        "rel_tol": chance.choice([0, 1e-9, 0.5]),
        "ignore_case": chance.random() < 0.5,
        "ignore_spaces": chance.random() < 0.5,
    }


def _column(chance: Random, pools: dict[str, list[str]], size: int, *, huge: bool) -> list[str]:
    kind = chance.choice(list(pools))
    gaps = chance.choice([0, 0, 0.2, 0.6])
    cells = [chance.choice(ABSENT) if chance.random() < gaps else chance.choice(pools[kind]) for _ in range(size)]
    if kind in {"integers", "floats"} and chance.random() < 0.3:
        cells = [
            cell if cell in ABSENT else repr(chance.random() * 10.0 ** chance.randint(-9, 20 if huge else 15))
            for cell in cells
        ]
    if cells and chance.random() < 0.25:
        cells[chance.randrange(size)] = chance.choice([stray for stray in STRAYS if huge or len(stray) < 19])
    return cells


def _varied(chance: Random, pools: dict[str, list[str]], cells: list[str], *, huge: bool) -> list[str]:
    kind = chance.random()
    if kind < 0.2:
        return _column(chance, pools, len(cells), huge=huge)
    if kind < 0.4 and cells:
        cells[chance.randrange(len(cells))] = chance.choice(chance.choice(list(pools.values())))
    elif kind < 0.5:
        chance.shuffle(cells)
    return cells


def _text(chance: Random, names: list[str], columns: list[list[str]], size: int) -> str:
    end = chance.choice(["\n", "\n", "\r\n"])
    rows = [names, *([column[row] for column in columns] for row in range(size))]
    lines = [",".join(_cell(chance, cell) for cell in row) for row in rows]
    return end.join(lines) + (end if chance.random() < 0.8 else "")


def _cell(chance: Random, cell: str) -> str:
    if any(sign in cell for sign in ',"\n\r') or chance.random() < 0.03:
        return '"' + cell.replace('"', '""') + '"'
    return cell
