"""What the processes of a parallel run tell each other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import execnet
import pytest

import grouping


@pytest.mark.parametrize(
    "wrapped", [str, lambda text: [("Captured log call", text)], lambda text: {text: (text, None)}]
)
def test_half_a_character_does_not_end_a_parallel_run(wrapped: Any) -> None:
    told = wrapped("DROP \ud800 ü")
    with pytest.raises(execnet.DumpError):
        execnet.dumps(told)
    assert execnet.loads(execnet.dumps(grouping.spelt(told))) == wrapped("DROP \\ud800 ü")


@pytest.mark.slow
def test_a_parallel_run_tells_of_half_a_character(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(grouping.__file__).parent), prepend=os.pathsep)
    pytester.makepyfile(
        """
        import logging

        def test_passes():
            logging.getLogger("any").warning("half \\ud800")

        def test_fails():
            assert "half \\ud800" == ""
        """
    )
    done = pytester.runpytest_subprocess("-n", "1", "-p", "grouping", "-p", "no:randomly")
    done.assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_groups_come_first_and_then_what_takes_long(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(grouping.__file__).parent), prepend=os.pathsep)
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    xdist_group: xdist\n")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.slow
        @pytest.mark.parametrize("number", range(4))
        def test_short(number):
            pass

        @pytest.mark.slow(long=True)
        @pytest.mark.parametrize("number", range(2))
        def test_long(number):
            pass

        @pytest.mark.xdist_group("together")
        @pytest.mark.parametrize("number", range(3))
        def test_group(number):
            pass
        """
    )
    arguments = ["-n", "1", "--dist", "loadgroup", "-v", "-p", "grouping", "-p", "no:randomly"]
    done = pytester.runpytest_subprocess(*arguments)
    done.assert_outcomes(passed=9)
    ran = [line.rpartition("::")[2].partition("[")[0] for line in done.outlines if "PASSED" in line]
    assert ran == ["test_group"] * 3 + ["test_long"] * 2 + ["test_short"] * 4
