"""Measure and write docs/background/measured/benchmarks.md.

    python -m benchmarks                      list what is measured
    python -m benchmarks NAME… [--rounds N]   measure these and write the page
    python -m benchmarks --all                measure everything, which takes half an hour of a quiet machine

Exits with 1 where a bound is missed. A measurement says what it needs and does not find; its lines stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.frame import Measurement, NotHere, Setup, keep_figures, kept_figures, measured
from benchmarks.page_writer import holds, shown, write_page
from benchmarks.registry import MEASUREMENTS


def main() -> int:
    """Measure what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="the heavy ones, too")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured before")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--spider", type=Path, metavar="DIR", help="dev.jsonl, predictions/ and database/ of Spider")
    parser.add_argument("--rounds", type=int, default=Setup().rounds)
    parser.add_argument("--workers", type=int, default=Setup().workers)
    parser.add_argument("--cases", type=int, default=Setup().cases, help="of the large run")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=COMMAND", help="see each measurement that has a peer"
    )
    given = parser.parse_args()
    known = {one.name for one in MEASUREMENTS}
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"nothing is called {', '.join(unknown)}: there is {', '.join(sorted(known))}")
    chosen = [one for one in MEASUREMENTS if one.name in given.names or given.all]
    if given.here:
        print(json.dumps(_measure_here(chosen[0], given)))
        return 0
    if not chosen:
        if given.page:
            write_page(kept_figures())
        for one in () if given.page else MEASUREMENTS:
            print(f"{one.name:<16} {one.title}{' (takes minutes)' if one.heavy else ''}")
        return 0
    arguments = [argument for argument in sys.argv[1:] if argument not in (*given.names, "--all")]
    keep = given.cases == Setup().cases  # the page is about one size
    missed = [one.name for one in chosen if not _measure(one, arguments, keep=keep)]
    return int(bool(missed))


def _measure_here(measurement: Measurement, given: argparse.Namespace) -> dict[str, object]:
    peers = dict(peer.split("=", 1) for peer in given.peer)
    setup = Setup(
        spider=given.spider,
        rounds=given.rounds,
        workers=given.workers,
        cases=given.cases,
        peers=peers,
    )
    try:
        return dict(measurement.run(setup))
    except NotHere as reason:
        return {"not_here": str(reason)}


def _measure(measurement: Measurement, arguments: list[str], *, keep: bool) -> bool:
    """Measure, keep and print; True where every bound holds."""
    print(measurement.title)
    try:
        found = measured(measurement, arguments)
    except NotHere as reason:
        print(f"    not measured: {reason}")
        return True
    if keep:
        figures = {**kept_figures(), **found}
        keep_figures(figures)
        write_page(figures)
    good = True
    for line in measurement.lines:
        held = holds(line, found[line.name])
        bound = "no bound" if line.bound is None else f"bound {shown(line.bound, line.unit)}"
        print(
            f"    {line.what:<72} {shown(found[line.name].value, line.unit):>16}  {bound}{'' if held else '  MISSED'}"
        )
        good = good and held
    return good


if __name__ == "__main__":
    sys.exit(main())
