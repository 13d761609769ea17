"""Judge a model's outputs as a run, and compute the benchmark's counts from it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from assay.api.evaluation import evaluate
from assay.api.inputs import Inputs, OnCases, OwnInputs, fingerprint_file
from assay.api.run import Run
from assay.cases.benchmarks.llmsql import InputMode, Outputs, check_known, read_outputs, read_questions
from assay.engines.pool.spawn import default_workers
from assay.engines.sqlite.file import open_read_only
from assay.errors import DatabaseError, InputError, UsageError
from assay.llmsql.benchmark_files import DEFAULT_VERSION, DEFAULT_WORKDIR, locate_files
from assay.model import Case, ComparisonOptions, Evidence, Execution, Limits, Rate
from assay.runs.aggregate.rates import rate_of
from assay.runs.plan import OnProgress
from assay.runs.store.journal import LazyEvidence

METRIC = "llmsql_ex"
METRICS = ("match", METRIC)
"""Our verdict on an output's first query, and the benchmark's own verdict on all of its queries."""
HEAD_ROWS = 5
"""How many rows of a result are kept in a run's folder."""
SHOWN_ROWS = 1_000
"""How many rows of a result a mismatch in the package's report shows."""
_CANDIDATES, _NULL = b'"candidates":[{', b'"head":[[null]]'
"""In a line of evidence. Texts cannot match: their quotes are escaped."""
_WORTH_A_WORKER = 2_000
"""Fewer outputs than this are judged before a second worker has started."""


class Finding(Struct, frozen=True, kw_only=True):
    """The judgement of one output, in the benchmark's terms."""

    evidence: Evidence
    question_id: object
    """The id as it is in the output."""

    @property
    def matched(self) -> bool:
        """Whether one of its queries gives gold's rows."""
        score = self.evidence.score(METRIC)
        return score is not None and score.value == 1.0

    @property
    def gold(self) -> Execution | None:
        """The execution of gold; None where judging failed."""
        golds = self.evidence.gold_executions
        return golds[0] if golds else None

    @property
    def executions(self) -> tuple[Execution, ...]:
        """The execution of each query of the output."""
        first = self.evidence.predicted_execution
        return () if first is None else (first, *self.evidence.candidates)

    @property
    def errors(self) -> tuple[str, ...]:
        """Why queries of the output gave no result, in their order."""
        executions = self.executions
        if not executions:
            return () if self.evidence.prediction.query is None else (self.evidence.verdict.reason,)
        return tuple([error for one in executions if (error := error_of(one)) is not None])


def error_of(execution: Execution) -> str | None:
    """Why a query gave no whole result; None where it did."""
    if execution.succeeded:
        return None
    return execution.failure.message if execution.failure is not None else "no result"


def _is_none(execution: Execution | None) -> bool:
    return execution is not None and execution.row_count == 1 and execution.head == ((None,),)


class Assessment(Struct, frozen=True, kw_only=True, dict=True):
    """A run over outputs, with the benchmark's counts. They count queries, as the benchmark does."""

    run: Run
    version: str
    outputs: Outputs
    questions: int
    """How many questions the benchmark has, answered or not."""

    @property
    def total(self) -> int:
        """How many outputs there are."""
        return len(self.outputs.items)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Those that count for more than a match, in the outputs' order: mismatches, several queries, a single NULL."""
        run, evidence, items = self.run, self.run.evidence, self.outputs.items
        return tuple(
            [
                Finding(evidence=evidence[place], question_id=items[place].question_id)
                for place in range(len(items))
                if not _is_mere_match(run, place)
            ]
        )

    @cached_property
    def mismatches(self) -> tuple[Finding, ...]:
        """The outputs without a query that gives gold's rows."""
        return tuple(finding for finding in self.findings if not finding.matched)

    @property
    def mode(self) -> InputMode:
        """How the outputs were given."""
        return self.outputs.mode

    @property
    def unanswered(self) -> int:
        """How many questions have no output. They are in no other number: the benchmark counts outputs."""
        return self.questions - self.total

    @property
    def matches(self) -> int:
        """How many outputs have a query that gives gold's rows."""
        return self.total - len(self.mismatches)

    @property
    def accuracy(self) -> Rate:
        """The share of outputs that match, with Wilson's interval at 95 %."""
        return rate_of([1.0] * self.matches + [0.0] * len(self.mismatches), binary=True)

    @property
    def pred_none(self) -> int:
        """How many queries in outputs give a single NULL."""
        return sum(_is_none(one) for finding in self.findings for one in finding.executions)

    @property
    def gold_none(self) -> int:
        """How many outputs answer a question whose gold result is a single NULL."""
        return sum(_is_none(finding.gold) for finding in self.findings)

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """Why queries gave no result, over all outputs in their order."""
        return tuple([error for finding in self.findings for error in finding.errors])

    @property
    def sql_errors(self) -> int:
        """How many queries in outputs gave no result. An output may hold several."""
        return len(self.errors)

    @property
    def without_query(self) -> int:
        """How many outputs hold no SELECT."""
        return sum(finding.evidence.prediction.query is None for finding in self.findings)

    def gold_errors(self) -> Iterator[str]:
        """Why gold gives no result, for every output whose gold query gives none."""
        golds = (finding.gold for finding in self.findings)
        return (error for gold in golds if gold is not None and (error := error_of(gold)) is not None)


def _is_mere_match(run: Run, place: int) -> bool:
    """Whether an output has one query, which gives gold's rows, and these are no single NULL: most are such.

    Found out without decoding its evidence, where a run has the lines at hand.
    """
    evidence, score = run.evidence, run.record.summaries[place].score(METRIC)
    if not isinstance(evidence, LazyEvidence) or evidence.line is None or score is None or score.value != 1.0:
        return False
    line = evidence.line(place)
    return _CANDIDATES not in line and _NULL not in line


def assess(
    outputs: object,
    *,
    version: str = DEFAULT_VERSION,
    workdir: str | os.PathLike[str] | None = DEFAULT_WORKDIR,
    questions_path: str | os.PathLike[str] | None = None,
    db_path: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    head_rows: int | None = None,
    diagnose: bool = True,
    options: ComparisonOptions = ComparisonOptions(),  # noqa: B008 (frozen)
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    name: str | None = None,
    tags: tuple[str, ...] = (),
    on_cases: OnCases | None = None,
    on_progress: OnProgress | None = None,
) -> Assessment:
    """Judge outputs (a path, or a list of mappings) by the metrics of `METRICS`.

    ``timeout_s`` is for gold's query and for all queries of a completion together, None as for
    every query of Assay; ``workers`` None: one per core; ``head_rows``: how many rows per result are kept where an
    output does not match; ``diagnose``: whether to look for the causes of wrong ones; ``options``: how our own verdict
    compares. The rest is as in `assay.evaluate`. Raises as
    `read_outputs`, `read_questions`, `locate_files`, `check_known` and `assay.evaluate` do.
    """
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"the time limit is {timeout_s!r} s: give a number above 0")
    given = read_outputs(outputs)
    files = locate_files(version, workdir=workdir, questions=questions_path, database=db_path)
    asked = 0

    def read(_: Any) -> Inputs:
        nonlocal asked
        questions = read_questions(files.questions)
        check_known(given, questions, files.questions)
        asked = len(questions)
        cases = tuple(questions[item.prediction.case_id] for item in given.items)
        _check_tables(files.database, cases)
        paths = [files.questions, *([given.name] if given.mode == "jsonl_path" else [])]
        return Inputs(
            cases=cases,
            predictions=tuple(item.prediction for item in given.items),
            blank_rows=0,
            unmatched=(),
            case_name=files.questions,
            prediction_name=given.name,
            files=tuple(map(fingerprint_file, paths)),
        )

    own = OwnInputs(read=read, options=options, head_rows=head_rows, plain_queries=True, diagnose=diagnose)
    run = evaluate(
        own,
        databases=f"sqlite:///{quote(str(Path(files.database).absolute()))}",
        metrics=METRICS,
        limits=Limits() if timeout_s is None else Limits(timeout_s=timeout_s),
        workers=workers if workers is not None else min(default_workers(), 1 + len(given.items) // _WORTH_A_WORKER),
        cache=cache,
        cache_bytes=cache_bytes,
        output=output,
        overwrite=overwrite,
        name=name,
        tags=tags,
        on_cases=on_cases,
        on_progress=on_progress,
    )
    return Assessment(run=run, version=version, outputs=given, questions=asked)


def _check_tables(database: str, cases: Sequence[Case]) -> None:
    """Raise InputError where the database has none of the questions' tables, before anything is judged or kept."""
    try:
        with closing(open_read_only(database)) as connection:
            there = {name.casefold() for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except (OSError, sqlite3.Error, DatabaseError):
        return  # the run reports why it cannot be read
    wanted = [table for case in cases if (table := case.options.table) is not None]
    if wanted and not any(table.casefold() in there for table in wanted):
        raise InputError(
            f"{database}: none of the {len(cases):,} gold queries runs there (no such table: {wanted[0]}): "
            "is it the database of these questions and this version?"
        )
