"""Write docs/background/measured/benchmarks.md: every line with its bound and what was measured last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.frame import ROOT, Figure, Line
from benchmarks.registry import MEASUREMENTS

PAGE = ROOT / "docs" / "background" / "measured" / "benchmarks.md"
_HEAD = """# Benchmarks

`python -m benchmarks` lists the measurements. `python -m benchmarks NAME…` runs them, writes this page and exits with 1
if a bound is missed. A / B is a ratio, measured in one run with both in turn. Times and memory are those of the named
machine; times mean much only if the stated load is near 0. *Missed* means work to be done. Other [scripts](scripts.md)
measure the rest ([how to run them](../../../benchmarks/README.md)).
"""


def page(figures: Mapping[str, Figure]) -> str:
    """The page with these figures."""
    return _HEAD + "".join(_sections(figures))


def write_page(figures: Mapping[str, Figure]) -> None:
    """Write the page."""
    PAGE.write_text(page(figures), encoding="utf-8")


def _sections(figures: Mapping[str, Figure]) -> Iterator[str]:
    for measurement in MEASUREMENTS:
        yield f"\n## {measurement.title}\n\n`python -m benchmarks {measurement.name}`"
        told = [figures[line.name] for line in measurement.lines if line.name in figures]
        yield f", {told[0].date}, {told[0].machine}:\n\n" if told else ":\n\n"
        yield "| what | measured | bound | |\n|---|---|---|---|\n"
        for line in measurement.lines:
            yield _row(line, figures.get(line.name))


def _row(line: Line, figure: Figure | None) -> str:
    bound = "none" if line.bound is None else shown(line.bound, line.unit)
    if figure is None:
        return f"| {line.what} | not measured yet | {bound} | |\n"
    verdict = "" if line.bound is None else "holds" if holds(line, figure) else "**missed**"
    return f"| {line.what} | {shown(figure.value, line.unit)} | {bound} | {verdict} |\n"


def holds(line: Line, figure: Figure) -> bool:
    """Whether the bound holds; True where there is none."""
    return line.bound is None or figure.value <= line.bound


def shown(value: float, unit: str) -> str:
    """The value as a reader wants it."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
