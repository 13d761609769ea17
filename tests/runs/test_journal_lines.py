"""The evidence of a stored run is read from its journal when it is asked for, and is otherwise as good as a tuple."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.errors import RunError
from assay.model import AlignedRow, Case, Comparison, Evidence, Execution, Prediction, Run, Score, Verdict
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.store import folder as run_folder
from assay.runs.store import journal as kept_lines
from assay.runs.store.folder import load_run, save_run
from assay.runs.store.journal import LazyEvidence
from running import run_of

CELLS = (Decimal("1.10"), date(2024, 2, 29), b"\x00", float("inf"), 2**70, "\udcff", None, True, 0.5, "é")


def made(number: int) -> Evidence:
    """One case; every third has cells that JSON cannot hold as they are."""
    rows = (CELLS,) if number % 3 == 0 else ((number, "plain"),)
    execution = Execution(query=f"SELECT {number}", status="rows", row_count=1, head=rows)
    return Evidence(
        case=Case(id=str(number), question=f"What is {number}? \u2028 \ud800" if number == 4 else "What?"),
        prediction=Prediction(case_id=str(number), query=f"SELECT {number}"),
        verdict=Verdict(
            outcome="correct" if number % 2 else "incorrect",
            reason=f"{number}",
            flags=frozenset({"vacuous", "ambiguous_gold"}),
        ),
        scores=(Score(metric="match", value=float(number % 2)),),
        comparison=Comparison(equal=False, aligned=(AlignedRow(state="missing", gold=rows[0]),)),
        gold_executions=(execution,),
        predicted_execution=execution,
    )


@pytest.fixture(params=["in memory", "in the file"])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A stored run of 20 cases, whose journal is held in memory or read from the file."""
    monkeypatch.setattr(kept_lines, "_MOST_DECODED", 0)
    if request.param == "in the file":
        monkeypatch.setattr(run_folder, "_HELD_BYTES", 0)
    save_run(run_of(*map(made, range(20))), tmp_path / "run")
    return load_run(tmp_path / "run")


def known() -> tuple[Evidence, ...]:
    """The same evidence as it comes out of a store, where text that is no Unicode is written as an escape."""
    fourth = made(4)
    escaped = fourth.case.question.encode("utf-8", "backslashreplace").decode()
    return tuple(
        replace(one, case=replace(one.case, question=escaped)) if number == 4 else one
        for number, one in enumerate(map(made, range(20)))
    )


def test_it_is_the_tuple_that_was_stored(run: Run) -> None:
    stored, whole = run.evidence, known()
    assert isinstance(stored, LazyEvidence)
    assert stored == whole
    assert [stored[place] for place in range(-20, 20)] == [whole[place] for place in range(-20, 20)]
    assert (stored.index(whole[7]), stored.count(whole[7]), [*reversed(stored)]) == (7, 1, [*reversed(whole)])
    for place in (20, -21):
        with pytest.raises(IndexError):
            stored[place]


def test_other_evidence_is_not_equal(run: Run) -> None:
    assert run.evidence != known()[:-1]
    assert run.evidence != (*known()[:-1], made(99))
    assert replace(run, summaries=summaries_of(known()), evidence=known()) == run
    assert replace(run, summaries=summaries_of(known()[1:]), evidence=known()[1:]) != run


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_a_copy_needs_no_file(run: Run, copied: object, tmp_path: Path) -> None:
    other = copied(run)  # type: ignore[operator]
    shutil.rmtree(tmp_path / "run")
    assert other == run


def test_what_was_loaded_outlives_its_folder(run: Run, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "run")
    assert run.evidence == known()


def test_several_threads_read_at_once(run: Run) -> None:
    with ThreadPoolExecutor(8) as threads:
        read = list(threads.map(lambda place: run.evidence[place % 20], range(400)))
    assert read == [known()[place % 20] for place in range(400)]


def test_a_journal_written_anew_meanwhile_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_lines, "_MOST_DECODED", 0)
    monkeypatch.setattr(run_folder, "_HELD_BYTES", 0)
    save_run(run_of(*map(made, range(20))), tmp_path / "run")
    run = load_run(tmp_path / "run")
    journal = tmp_path / "run" / "journal.jsonl"
    with journal.open("r+b") as file:
        file.seek(journal.stat().st_size - 40)
        file.write(b"?")
    assert run.evidence[0] == known()[0]
    with pytest.raises(RunError, match=r"journal\.jsonl: was written again while its run was being read"):
        run.evidence[19]
    os.truncate(journal, 0)
    with pytest.raises(RunError, match="written again"):
        run.evidence[0]


def test_no_file_stays_open_once_a_run_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "_HELD_BYTES", 0)
    save_run(run_of(*map(made, range(3))), tmp_path / "run")
    evidence = load_run(tmp_path / "run").evidence
    assert evidence == known()[:3]
    assert _open_files(tmp_path) == ["journal.jsonl"]
    del evidence
    gc.collect()
    assert _open_files(tmp_path) == []


def _open_files(folder: Path) -> list[str]:
    """Names of this process's open files below the folder: others come and go with whatever ran here before."""
    files = Path("/proc/self/fd")
    if not files.exists():
        pytest.skip("no /proc here to look at open files")
    opened = []
    for file in files.iterdir():
        with suppress(OSError):  # closed meanwhile, as the listing's own
            if (path := file.readlink()).is_relative_to(folder.resolve()):
                opened.append(path.name)
    return sorted(opened)
