"""A run on disk: run.json, the journal and results.parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

from assay.errors import InputError, RunError
from assay.model import Aggregates, Evidence, Provenance, Run, RunSettings
from assay.runs.codec import decode_evidence, decode_value, encode_evidence, encode_value
from assay.runs.plan import Work, digest_of

FORMAT = 1
"""Raised whenever an older Assay could not read what this one writes."""
_RUN_FILE = "run.json"
_PARQUET_FILE = "results.parquet"
_JOURNAL_LINE = re.compile(rb'\{"digest":"([0-9a-f]{24})","evidence":(\{.*\})\}\n?', re.DOTALL)
_MAY_DIFFER = ("workers", "name")
"""Settings that change nothing in the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """What run.json holds. ``aggregates`` and ``order`` are there once the run is finished."""

    format: int
    status: Literal["running", "finished"]
    settings: RunSettings
    provenance: Provenance
    order: tuple[str, ...] = ()
    """Case ids in the question set's order."""
    aggregates: Aggregates | None = None


def begin_folder(folder: Path, settings: RunSettings, provenance: Provenance) -> None:
    """Make the folder of a run, or see that it is this run's. Raises RunError where it holds something else."""
    path = folder / _RUN_FILE
    if path.exists():
        _check_same(folder, read_run_file(folder).settings, settings)
    elif folder.exists() and (not folder.is_dir() or any(entry.name != "answers.jsonl" for entry in folder.iterdir())):
        raise RunError(f"{folder} exists and holds no run: choose another -o, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    _write(path, RunFile(format=FORMAT, status="running", settings=settings, provenance=provenance))


def _check_same(folder: Path, stored: RunSettings, wanted: RunSettings) -> None:
    neutral = {name: getattr(wanted, name) for name in _MAY_DIFFER}
    if replace(stored, **neutral) == wanted:
        return
    differing = [field.name for field in fields(RunSettings) if field.name not in _MAY_DIFFER]
    differences = [name for name in differing if getattr(stored, name) != getattr(wanted, name)]
    shown = "; ".join(f"{name} was {getattr(stored, name)!r}, now {getattr(wanted, name)!r}" for name in differences)
    raise RunError(f"{folder} holds a run with other settings ({shown}): choose another -o, or add --overwrite")


def finish_folder(folder: Path, run: Run) -> None:
    """Write what a finished run has beside its journal."""
    write_parquet(folder / _PARQUET_FILE, run)
    finished = RunFile(
        format=FORMAT,
        status="finished",
        settings=run.settings,
        provenance=run.provenance,
        order=tuple(evidence.case.id for evidence in run.evidence),
        aggregates=run.aggregates,
    )
    _write(folder / _RUN_FILE, finished)


def clear_folder(folder: Path, *, keep_answers: bool = False) -> None:
    """Remove a run's own files, so that another can be written there. Raises RunError where it holds no run.

    ``keep_answers`` leaves what a live system answered: it is judged again, and not asked again.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / _RUN_FILE).exists():
        raise RunError(f"{folder} holds no run, so nothing there is overwritten: choose another -o")
    for name in (_RUN_FILE, "journal.jsonl", _PARQUET_FILE, *(() if keep_answers else ("answers.jsonl",))):
        (folder / name).unlink(missing_ok=True)


def save_run(run: Run, folder: Path) -> None:
    """Write a run that was made in memory. Raises RunError where the folder holds something already."""
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} is not empty: choose another folder")
    begin_folder(folder, run.settings, run.provenance)
    with (folder / "journal.jsonl").open("wb") as file:
        for index, evidence in enumerate(run.evidence):
            digest = digest_of(_work_of(index, evidence))
            file.write(b'{"digest":"%s","evidence":%s}\n' % (digest.encode("ascii"), encode_evidence(evidence)))
    finish_folder(folder, run)


def _work_of(index: int, evidence: Evidence) -> Work:
    from assay.model import DatabaseUrl

    url = DatabaseUrl(text=f"saved:{evidence.case.database}")
    return Work(index=index, case=evidence.case, prediction=evidence.prediction, url=url)


def load_run(folder: Path) -> Run:
    """Read a finished run. Raises RunError where it is none, is unfinished or is damaged, and says where."""
    stored = read_run_file(folder)
    if stored.status != "finished" or stored.aggregates is None:
        raise RunError(f"{folder} is not finished: run the same command again, and it goes on from there")
    by_id: dict[str, Evidence] = {}
    for evidence in _journaled(folder / "journal.jsonl"):
        by_id[evidence.case.id] = evidence
    missing = [case_id for case_id in stored.order if case_id not in by_id]
    if missing:
        raise RunError(
            f"{folder / 'journal.jsonl'}: {len(missing)} cases of the run are absent, such as {missing[0]!r}"
        )
    return Run(
        settings=stored.settings,
        provenance=stored.provenance,
        evidence=tuple(by_id[case_id] for case_id in stored.order),
        aggregates=stored.aggregates,
    )


def _journaled(path: Path) -> Sequence[Evidence]:
    if not path.exists():
        raise RunError(f"{path} is absent: the run is damaged")
    found: list[Evidence] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            parts = _JOURNAL_LINE.fullmatch(line)
            if parts is None:
                raise RunError(f"{path}, line {number}: damaged")
            found.append(decode_evidence(parts[2]))
    return found


def read_run_file(folder: Path) -> RunFile:
    """Read run.json. Raises InputError where there is no run, RunError where it is damaged."""
    path = folder / _RUN_FILE
    if not path.exists():
        raise InputError(f"{folder} is no run: there is no {_RUN_FILE} in it")
    stored = decode_value(path.read_bytes(), RunFile)
    if stored.format > FORMAT:
        raise RunError(f"{path} was written by a newer Assay (format {stored.format}): update this one to read it")
    return stored


def _write(path: Path, content: RunFile) -> None:
    """Write a file whole or not at all."""
    import msgspec

    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.format(encode_value(content), indent=2))
    os.replace(temporary, path)


def write_parquet(path: Path, run: Run) -> None:
    """Write a row a case, in the question set's order, with a column for each metric (NULL: unscored)."""
    import duckdb

    metrics = run.settings.metrics
    columns = {
        "case_id": "VARCHAR",
        "question": "VARCHAR",
        "db_id": "VARCHAR",
        "difficulty": "VARCHAR",
        "predicted_sql": "VARCHAR",
        "gold_sql": "VARCHAR",
        "outcome": "VARCHAR",
        "reason": "VARCHAR",
        "flags": "VARCHAR[]",
        "cause": "VARCHAR",
        **dict.fromkeys(metrics, "DOUBLE"),
    }
    lines = path.with_suffix(".lines.tmp")
    temporary = path.with_suffix(".tmp")
    try:
        with lines.open("wb") as file:
            for evidence in run.evidence:
                file.write(encode_value(_parquet_row(evidence, metrics)).replace(b"\\u0000", b"\\ufffd") + b"\n")
        with duckdb.connect(":memory:") as connection:
            source = connection.read_json(str(lines), columns=columns, format="newline_delimited")
            source.write_parquet(str(temporary))
        os.replace(temporary, path)
    finally:
        lines.unlink(missing_ok=True)
        temporary.unlink(missing_ok=True)


def _parquet_row(evidence: Evidence, metrics: Sequence[str]) -> dict[str, object]:
    case = evidence.case
    values = {score.metric: score.value for score in evidence.scores}
    return {
        "case_id": case.id,
        "question": case.question,
        "db_id": case.database,
        "difficulty": case.difficulty,
        "predicted_sql": evidence.prediction.query,
        "gold_sql": "\n---\n".join(case.golds) if case.golds else None,
        "outcome": evidence.verdict.outcome,
        "reason": evidence.verdict.reason,
        "flags": sorted(evidence.verdict.flags),
        "cause": evidence.cause,
        **{metric: values.get(metric) for metric in metrics},
    }
