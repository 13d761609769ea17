"""An LLM as judge of whether two queries are equivalent, without executing them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assay import registry
from assay.api.models import model_of
from assay.api.public import public
from assay.api.run import Run, load_run
from assay.api.schemas import SchemaOf, schema_from_databases
from assay.cases.fields import columns_of, listed, normal
from assay.cases.load import recognise
from assay.cases.records import Record, kind_of
from assay.cases.tables.formats import CsvFormat, ExcelFormat, JsonFormat, JsonLinesFormat, ParquetFormat, YamlFormat
from assay.cases.values import UnusableValue, is_absent, name_of
from assay.errors import CaseFileError, InputError, UsageError
from assay.llm_judge import (
    Calibration,
    CaseQueries,
    JudgedCase,
    JudgeSettings,
    Opinion,
    Prompt,
    QueryJudge,
    QueryPair,
    calibrate,
    judge_cases,
)
from assay.model import DatabaseUrl, Evidence, FieldNames
from assay.ports import ChatModel
from assay.sql import read_shape


@public
def open_judge(
    model: str | ChatModel | Callable[[str], str],
    *,
    samples: int = 1,
    both_orders: bool = True,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    concurrency: int = 4,
    cache: str | os.PathLike[str] | None = None,
    retry_refusals: bool = False,
    prompt: str | Prompt | None = None,
    keep_comments: bool = False,
    usd_per_million_input: float | None = None,
    usd_per_million_output: float | None = None,
) -> QueryJudge:
    """Open a judge, to be closed after use or used in a ``with`` statement; closing it closes its model.

    ``model`` is a name, an open model, a client or model of another library, or a function from prompt to answer.
    ``samples`` is the number of answers in each order of the two queries. ``cache`` names a file that keeps
    answers, so that the same question to the same model is paid for once. A refusal is an answer, too:
    ``retry_refusals`` asks again what was refused before. ``prompt`` is a text as ``assay judge --show-prompt`` prints
    it. Raises InputError and UsageError.
    """
    if not isinstance(prompt, Prompt):
        prompt = (
            Prompt(keep_comments=keep_comments) if prompt is None else Prompt.parse(prompt, keep_comments=keep_comments)
        )
    settings = JudgeSettings(
        samples=samples,
        both_orders=both_orders,
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
        cache=None if cache is None else Path(cache),
        retry_refusals=retry_refusals,
        usd_per_million_input=usd_per_million_input,
        usd_per_million_output=usd_per_million_output,
        prompt=prompt,
    )
    return QueryJudge(model_of(model)[0], settings)


@public
def judge_equivalence(
    pairs: Iterable[QueryPair | tuple[str, str]],
    *,
    model: str | ChatModel | QueryJudge | Callable[[str], str],
    schema: str = "",
    dialect: str | None = None,
) -> list[Opinion]:
    """Ask a model whether the queries of each pair are semantically equivalent, in both orders.

    ``model`` is a judge, or what `open_judge` takes; a model given by its name is opened and closed, any other stays
    open. ``schema`` (DDL or any other text) and ``dialect`` are those of the pairs given as tuples. An opinion's
    ``equivalent`` is True, False, or None with ``failure`` if the model refused, could not be understood, or
    contradicted itself. Raises SystemUnusable if the model can answer no question at all.
    """
    asked = [_pair(pair, schema, dialect) for pair in pairs]
    if isinstance(model, QueryJudge):
        return model.judge_all(asked)
    judge = open_judge(model)
    try:
        return judge.judge_all(asked)
    finally:
        if isinstance(model, str):
            judge.close()
        else:
            judge.close_cache()


def _pair(pair: object, schema: str, dialect: str | None) -> QueryPair:
    if isinstance(pair, QueryPair):
        return pair
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(query, str) for query in pair):
        return QueryPair(first=pair[0], second=pair[1], schema=schema, dialect=dialect)
    raise UsageError(f"{pair!r} is not a pair of queries: give two texts, or an assay.QueryPair")


Only = Literal["all", "correct", "incorrect"]


@public
def judge_run(
    run: Run | str | os.PathLike[str],
    judge: QueryJudge,
    *,
    only: Only = "all",
    limit: int | None = None,
    schema: SchemaOf | None = None,
    dialect: str | None = None,
    on_case: Callable[[JudgedCase], None] | None = None,
) -> list[JudgedCase]:
    """Ask a judge whether each predicted query of a run is equivalent to one of its gold queries; nothing is executed.

    ``only`` picks cases by their execution verdict, ``limit`` is how many of these at most. ``schema`` gives
    the text for a database's name; None: the DDL of the run's own SQLite or DuckDB files, and no schema for
    other databases. Raises as `queries_of` and `QueryJudge.judge_all` do.
    """
    if isinstance(run, (str, os.PathLike)):
        run = load_run(run)
    if not isinstance(run, Run):
        raise UsageError(f"run is of the type {type(run).__name__}: give an assay.Run, or the path of a run's folder")
    if not isinstance(judge, QueryJudge):
        given = repr(judge) if isinstance(judge, str) else f"of the type {type(judge).__name__}"
        raise UsageError(f"judge is {given}: give an open judge, such as open_judge('gpt-4.1')")
    return judge_cases(judge, queries_of(run, only=only, limit=limit, schema=schema, dialect=dialect), on_case=on_case)


def queries_of(
    run: Run,
    *,
    only: Only = "all",
    limit: int | None = None,
    schema: SchemaOf | None = None,
    dialect: str | None = None,
) -> list[CaseQueries]:
    """The queries to ask a judge about. Raises InputError if the run has no such case, or judged no queries."""
    if run.settings.selection is not None:
        raise InputError("this run evaluated selections: the LLM judge needs a run of queries")
    if only not in ("all", "correct", "incorrect"):
        raise UsageError(f"only is {only!r}: write 'all', 'correct' or 'incorrect'")
    chosen = [one for one in run.evidence if only in ("all", one.outcome)][:limit]
    if not chosen:
        raise InputError("the run has no case to judge" if only == "all" else f"no case of the run is {only}")
    schema_of = schema or schema_from_databases(run.settings.database) or _no_schema
    spoken = dialect or _dialect(run.settings.database)
    return [_case(one, schema_of, spoken) for one in chosen]


def _no_schema(_: str | None) -> str:
    return ""


def _case(evidence: Evidence, schema_of: SchemaOf, dialect: str | None) -> CaseQueries:
    case = evidence.case
    query = evidence.prediction.query
    if query is None or evidence.prediction.given != "answer" or case.expects != "answer":
        return CaseQueries(case_id=case.id, pairs=(), has_query=False, repeat=evidence.prediction.repeat)
    question = "\n".join(text for text in (case.question, case.context) if text) or None
    pairs = tuple(
        QueryPair(
            first=query,
            second=gold,
            schema=schema_of(case.database),
            question=question,
            dialect=dialect,
            ordered=case.options.ordered
            if case.options.ordered is not None
            else read_shape(gold, dialect or "").ordered,
        )
        for gold in case.golds
    )
    return CaseQueries(case_id=case.id, pairs=pairs, repeat=evidence.prediction.repeat)


def _dialect(database: str) -> str | None:
    """The dialect of the run's engine; None if its URL names none, as for a mapping of databases."""
    try:
        return registry.engine_class(DatabaseUrl.parse(database)).dialect
    except InputError:
        return None


class MeasuredJudge(Struct, frozen=True, kw_only=True):
    """A judge measured against the truth, with counts of the cases left out of that."""

    calibration: Calibration
    truth: Literal["execution", "labels"]
    not_asked: int
    """Cases without a predicted query or without gold query: there was nothing to judge."""
    without_truth: int
    """Cases that execution left unscored, or that have no label."""
    disagreements: tuple[str, ...]
    """Ids of the cases on which the judge says the opposite, in the run's order."""


@public
def measure_judge(run: Run, judged: Sequence[JudgedCase], *, labels: Mapping[str, bool] | None = None) -> MeasuredJudge:
    """Measure a judge against the run's own execution verdicts, or against labels by case id.

    Raises UsageError for labels of a run that asked each question several times: labels name cases, not answers.
    Unscored cases count apart. Note that execution only shows equal results on one database.
    """
    if labels is not None and run.settings.repeats > 1:
        raise UsageError(
            f"labels name cases, and this run has {run.settings.repeats} answers to each: leave the labels out"
        )
    known = (
        {(case_id, 0): label for case_id, label in labels.items()}
        if labels is not None
        else {
            (one.case.id, one.prediction.repeat): one.outcome == "correct"
            for one in run.evidence
            if one.outcome != "unscored"
        }
    )
    asked = [case for case in judged if case.asked]
    told = [(known[key], case) for case in asked if (key := (case.case_id, case.repeat)) in known]
    return MeasuredJudge(
        calibration=calibrate((truth, case.equivalent) for truth, case in told),
        truth="execution" if labels is None else "labels",
        not_asked=len(judged) - len(asked),
        without_truth=len(asked) - len(told),
        disagreements=tuple(
            dict.fromkeys(
                case.case_id for truth, case in told if case.equivalent is not None and case.equivalent != truth
            )
        ),
    )


_COLUMNS = ("label", "equivalent", "is_equivalent", "human", "human_label", "verdict", "correct", "answer")
_YES = frozenset(map(normal, ("yes", "y", "true", "t", "1", "1.0", "equivalent", "correct", "right", "same")))
_NO = frozenset(
    map(
        normal,
        ("no", "n", "false", "f", "0", "0.0", "not equivalent", "inequivalent", "incorrect", "wrong", "different"),
    )
)


class Labels(Struct, frozen=True, kw_only=True):
    """Labels by case id; ``blank`` counts the rows without a label."""

    by_case: dict[str, bool]
    blank: int


@public
def read_labels(path: Path, case_ids: Collection[str]) -> Labels:
    """Read a file with a case's id and yes or no in each row: CSV, JSON Lines, JSON, Excel, Parquet or YAML.

    Raises CaseFileError with file and row for a label that is neither, an id that the run does not
    have, and an id that occurs twice.
    """
    if not path.exists():
        raise CaseFileError("does not exist", path=str(path))
    formats = [JsonLinesFormat(), JsonFormat(), CsvFormat(), ExcelFormat(), ParquetFormat(), YamlFormat()]
    chosen = recognise(path, formats)
    table = next(one for one in formats if one is chosen).records(path, FieldNames(), ("id",))
    ids = columns_of("id", None, table.columns, path=str(path))
    labels = [column for column in _COLUMNS for own in table.columns if normal(own) == normal(column)]
    own_names = {normal(own): own for own in table.columns}
    keyed = all(record.key is not None for record in table.records)
    if not ids and not keyed:
        raise CaseFileError(
            f"no column found for the case ids; the columns are {listed(table.columns)}. Name one of them id",
            path=str(path),
        )
    column = own_names[normal(labels[0])] if labels else "prediction" if keyed else None
    if column is None:
        raise CaseFileError(
            f"no column found for the labels ({listed(_COLUMNS[:3])}); the columns are {listed(table.columns)}",
            path=str(path),
        )
    found: dict[str, bool] = {}
    blank = 0
    for record in table.records:
        if record.blank:
            continue
        value = record.values.get(ids[0]) if ids else record.key
        try:
            case_id = name_of(value, "the id")
        except UnusableValue as error:
            raise CaseFileError(error.message, path=str(path), place=record.place) from error
        if case_id is None:
            raise CaseFileError("has no id of a case", path=str(path), place=record.place)
        if case_id not in case_ids:
            near = get_close_matches(case_id, case_ids, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise CaseFileError(f"{case_id!r} is not a case of the run{hint}", path=str(path), place=record.place)
        if case_id in found:
            raise CaseFileError(f"the case {case_id!r} is labelled twice", path=str(path), place=record.place)
        label = _label(path, record, column)
        if label is None:
            blank += 1
        else:
            found[case_id] = label
    if not found:
        raise CaseFileError("contains no label", path=str(path))
    return Labels(by_case=found, blank=blank)


def _label(path: Path, record: Record, column: str) -> bool | None:
    value = record.values.get(column)
    if is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    text = normal(str(value).strip())
    if text in _YES or text in _NO:
        return text in _YES
    shown = kind_of(value)
    raise CaseFileError(
        f'the label is {shown}: write yes or no (also 1 and 0, true and false, "equivalent" and "not equivalent")',
        path=str(path),
        place=f'{record.place}, column "{column}"',
    )
