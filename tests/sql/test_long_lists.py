"""Long lists of literals take time in proportion to their length."""

from __future__ import annotations

import sys
from types import FrameType

from assay.sql.differences import SchemaNames, differences, read_pair, repaired_queries
from many_cases import each

NAMES = SchemaNames()


def work_of(gold: str, predicted: str) -> int:
    """The calls that comparing and repairing takes, those of functions written in C included."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read = read_pair(gold, predicted, "sqlite", NAMES)
        for one in differences(read.gold, read.predicted):
            assert one.gold or one.predicted
        for repaired in repaired_queries(read):
            assert repaired.steps
    finally:
        sys.setprofile(before)
    return calls


LISTS = {
    "in both": ("SELECT a FROM t WHERE b IN ({0})", "SELECT c FROM t WHERE b IN ({0})"),
    "in each another one": ("SELECT a FROM t WHERE b IN ({0})", "SELECT a FROM t WHERE b IN ({1})"),
    "in gold": ("SELECT a FROM t WHERE b IN ({0})", "SELECT c FROM t"),
    "in the prediction": ("SELECT c FROM t", "SELECT a FROM t WHERE b IN ({0})"),
    "denied": ("SELECT a FROM t WHERE b NOT IN ({0})", "SELECT a FROM t WHERE NOT b IN ({1})"),
    "under OR": ("SELECT a FROM t WHERE b IN ({0}) OR c = 1", "SELECT a FROM t WHERE b IN ({1}) OR c = 1"),
    "in HAVING": (
        "SELECT a FROM t GROUP BY a HAVING MAX(b) IN ({0})",
        "SELECT a FROM t GROUP BY a HAVING MAX(b) IN ({1})",
    ),
    "in a join": ("SELECT t.a FROM t JOIN u ON t.b IN ({0})", "SELECT t.a FROM t JOIN u ON t.b IN ({1})"),
    "in a CASE": ("SELECT CASE WHEN b IN ({0}) THEN 1 END FROM t", "SELECT CASE WHEN b IN ({1}) THEN 1 END FROM t"),
    "in a subquery": (
        "SELECT a FROM t WHERE a IN (SELECT c FROM u WHERE d IN ({0}))",
        "SELECT a FROM t WHERE a IN (SELECT c FROM u WHERE d IN ({1}))",
    ),
}


@each("written", ["{}", "'{}'", "-{}", "{}.50"])
@each("place", LISTS)
def test_the_work_grows_as_the_list(place: str, written: str) -> None:
    work = []
    for length in (200, 800):
        lists = [",".join(written.format(number) for number in range(start, start + length)) for start in (1, 2)]
        work.append(work_of(*(side.format(*lists) for side in LISTS[place])))
    assert work[1] < 5 * work[0]
