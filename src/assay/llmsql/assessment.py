"""Judge all outputs on the worker pool, and add up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote

from assay.engines.pool.pool import Task, TaskDone, TaskLost, WorkerPool, default_workers
from assay.engines.sqlite.engine import SqliteEngine
from assay.errors import InputError, UsageError
from assay.llmsql.files import DEFAULT_VERSION, DEFAULT_WORKDIR, locate_files
from assay.llmsql.inputs import Output, Outputs, Question, check_known, read_outputs, read_questions
from assay.llmsql.worker import SETUP, Judged, Payload, WorkerSettings, unpack
from assay.model import DatabaseUrl, Limits, Rate
from assay.stats import wilson_interval

_LARGEST_BATCH = 64
_BATCHES_PER_WORKER = 8
_WORTH_A_WORKER = 200
"""So few outputs are judged before another worker has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One output with its question and what became of it."""

    output: Output
    question: Question
    judged: Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All outputs judged, in their order."""

    version: str
    outputs: Outputs
    findings: tuple[Finding, ...]
    questions: int
    """How many questions the benchmark has, answered or not."""

    @property
    def mismatches(self) -> tuple[Finding, ...]:
        """The outputs without a query that gives gold's rows."""
        return tuple(finding for finding in self.findings if not finding.judged.matched)

    @property
    def unanswered(self) -> int:
        """Questions without an output. They are in no other number: the benchmark counts outputs."""
        return self.questions - len(self.findings)

    @property
    def accuracy(self) -> Rate:
        """The share of outputs that match, with Wilson's interval at 95 %."""
        n = len(self.findings)
        matches = self.matches
        low, high = wilson_interval(matches, n) or (None, None)
        return Rate(n=n, numerator=matches, unscored=0, value=matches / n if n else None, low=low, high=high)

    @property
    def matches(self) -> int:
        """Outputs of which a query gives gold's rows."""
        return sum(finding.judged.matched for finding in self.findings)

    @property
    def pred_none(self) -> int:
        """Queries in outputs whose result is one NULL."""
        return sum(finding.judged.pred_none for finding in self.findings)

    @property
    def gold_none(self) -> int:
        """Outputs to questions whose gold result is one NULL."""
        return sum(finding.judged.gold_none for finding in self.findings)

    @property
    def sql_errors(self) -> int:
        """Queries in outputs that gave no result. An output may hold several."""
        return sum(len(finding.judged.errors) for finding in self.findings)


OnFinding = Callable[[Finding, int, int], None]
"""Takes a finding, how many there are with it, and how many there will be."""


def assess(
    outputs: object,
    *,
    version: str = DEFAULT_VERSION,
    workdir: str | os.PathLike[str] | None = DEFAULT_WORKDIR,
    questions_path: str | os.PathLike[str] | None = None,
    db_path: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    workers: int | None = None,
    on_finding: OnFinding | None = None,
) -> Assessment:
    """Judge outputs (a path, or a list of mappings).

    ``timeout_s`` is for gold's query and for all queries of a completion together, None as for
    every query of Assay; ``workers`` None: one a core. ``on_finding`` is called with each
    finding, in the outputs' order. Raises as `read_outputs`, `read_questions`,
    `locate_files` and `check_known` do, and DatabaseError.
    """
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"the time limit is {timeout_s!r} s: give a number above 0")
    limits = Limits() if timeout_s is None else Limits(timeout_s=timeout_s)
    given = read_outputs(outputs)
    files = locate_files(version, workdir=workdir, questions=questions_path, database=db_path)
    url = _url_of(files.database)
    SqliteEngine.check(url)
    count = workers if workers is not None else min(default_workers(), 1 + len(given.items) // _WORTH_A_WORKER)
    with _make_pool(url, limits, count) as pool:  # its workers start while the questions are read
        questions = read_questions(files.questions)
        check_known(given, questions, files.questions)
        findings = []
        for finding in _in_order(given.items, questions, pool, count):
            findings.append(finding)
            if on_finding is not None:
                on_finding(finding, len(findings), len(given.items))
    assessment = Assessment(version=version, outputs=given, findings=tuple(findings), questions=len(questions))
    _check_golds(assessment, files.database)
    return assessment


def _url_of(path: str) -> DatabaseUrl:
    return DatabaseUrl(text=f"sqlite:///{quote(str(Path(path).absolute()))}")


def _make_pool(url: DatabaseUrl, limits: Limits, workers: int) -> WorkerPool:
    settings = WorkerSettings(url=url, limits=limits)
    # Beside the engine's own memory: two results, each counted row by row while they are compared.
    memory = limits.max_memory_bytes + 4 * limits.max_result_bytes
    return WorkerPool(workers=workers, setup=SETUP, argument=settings, memory_limit_bytes=memory)


def _in_order(
    items: Sequence[Output], questions: Mapping[str, Question], pool: WorkerPool, workers: int
) -> Iterator[Finding]:
    waiting: dict[int, Judged] = {}
    following = 0
    for number, judged in _judged(_payloads(items, questions), pool, workers):
        waiting[number] = judged
        while (found := waiting.pop(following, None)) is not None:
            output = items[following]
            yield Finding(output=output, question=questions[output.key], judged=found)
            following += 1


def _payloads(items: Sequence[Output], questions: Mapping[str, Question]) -> list[Payload]:
    asked = [questions[item.key] for item in items]
    times = Counter(question.gold for question in asked)
    return [
        (question.gold, question.table_id, item.completion, times[question.gold] > 1)
        for item, question in zip(items, asked, strict=True)
    ]


def _judged(payloads: Sequence[Payload], pool: WorkerPool, workers: int) -> Iterator[tuple[int, Judged]]:
    """Each payload's outcome with its place, as they come."""
    size = max(1, min(_LARGEST_BATCH, len(payloads) // (workers * _BATCHES_PER_WORKER)))
    lost: list[int] = []
    for start, outcome in _run(payloads, range(0, len(payloads), size), size, pool):
        if isinstance(outcome, TaskDone):
            yield from enumerate(map(unpack, cast("list[object]", outcome.outcome)), start=start)
        else:
            lost.extend(range(start, min(start + size, len(payloads))))
    # A batch is given up for one completion that nothing survives: the others are judged by themselves.
    for number, outcome in _run(payloads, lost, 1, pool):
        if isinstance(outcome, TaskDone):
            yield number, unpack(cast("list[object]", outcome.outcome)[0])
        else:
            reason = f"judging it failed: {outcome.message}"
            yield number, Judged(matched=False, gold_none=False, queries=1, errors=(reason,))


def _run(
    payloads: Sequence[Payload], starts: Sequence[int], size: int, pool: WorkerPool
) -> Iterator[tuple[int, TaskDone | TaskLost]]:
    for outcome in pool.run([Task(id=start, payload=payloads[start : start + size])] for start in starts):
        yield outcome.task_id, outcome


def _check_golds(assessment: Assessment, database: str) -> None:
    """Raise InputError where no gold query runs: then this is not the questions' database."""
    errors = [f.judged.gold.error for f in assessment.mismatches if f.judged.gold is not None and f.judged.gold.error]
    if errors and len(errors) == len(assessment.findings):
        raise InputError(
            f"{database}: none of the {len(errors):,} gold queries runs there ({errors[0]}): "
            "is it the database of these questions and this version?"
        )
