"""LLMSQL's own files: its questions, and a model's outputs in either generation of their format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from assay.cases.fields import ALIASES, closest, listed
from assay.cases.records import shortened
from assay.cases.text.decoding import lines_of, read_text
from assay.cases.text.json import json_lines_table
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Case, CaseOptions, FieldNames, Prediction
from assay.ports import LoadedCases, LoadedPredictions
from assay.sql.extraction import completion_of

InputMode = Literal["jsonl_path", "dict_list"]

_ANSWERS = ("completion", "predicted_sql")
_SHAPE = '{"question_id": 1, "completion": "SELECT …"}'
_MOST_NAMED = 5


class LlmsqlFormat:
    """LLMSQL's ``questions.jsonl`` (``question_id, table_id, question, sql``), and outputs of models
    (``question_id`` with ``completion`` or ``predicted_sql``), both JSON Lines.

    A completion may contain prose and several queries: the first is the predicted one, and the metric ``llmsql_ex``
    checks all of them, as the benchmark does. ``FROM Table`` means the question's table.
    """

    name = "llmsql"

    def recognises(self, path: Path) -> bool:  # noqa: ARG002 - the port's
        """Always False: the outputs look like any JSON Lines, so the format must be named."""
        return False

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:  # noqa: ARG002 - the port's
        """Read the questions. Raises CaseFileError with file and line."""
        return LoadedCases(cases=tuple(read_questions(str(path)).values()))

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:  # noqa: ARG002 - the port's
        """Read a model's outputs. Raises CaseFileError with file and line."""
        return LoadedPredictions(predictions=tuple(output.prediction for output in read_outputs(path).items))


class Output(Struct, frozen=True, kw_only=True):
    """A model's answer to one question. Its case id is the key of the question's id."""

    question_id: object
    """As it was given."""
    prediction: Prediction
    question: str | None = None
    """The question as the output repeats it; None if it does not."""
    place: str = ""
    """Its place in the file."""


class Outputs(Struct, frozen=True, kw_only=True):
    """A model's outputs, in their order, each for a different question."""

    name: str
    mode: InputMode
    items: tuple[Output, ...]


def read_questions(path: str) -> dict[str, Case]:
    """The questions by the key of their ids, which is the case id. Raises CaseFileError with file and line."""
    questions: dict[str, Case] = {}
    name = Path(path).name
    for place, values in _records(Path(path)):
        key = _key(values.get("question_id"))
        if key is None:
            raise _no_id(values, path, place)
        gold, table = values.get("sql"), values.get("table_id")
        if not (isinstance(gold, str) and gold and isinstance(table, str) and table):
            unusable = [f'"{field}" is {values[field]!r:.40}' for field in ("table_id", "sql") if field in values]
            had = f"and has {listed(list(values)) or 'nothing'}"
            if len(unusable) == 2:
                had = "and " + " and ".join(
                    text
                    for text, one in zip(unusable, (table, gold), strict=True)
                    if not (isinstance(one, str) and one)
                )
            raise CaseFileError(
                f"is not a question of LLMSQL: it needs question_id, table_id, sql and question, {had}",
                path=path,
                place=place,
            )
        if key in questions:
            raise CaseFileError(f"the question_id {values['question_id']!r} occurs twice", path=path, place=place)
        questions[key] = Case(
            id=key,
            question=str(values.get("question", "")),
            golds=(gold,),
            options=CaseOptions(table=table),
            origin=f"{name}, {place}",
        )
    return questions


def read_outputs(outputs: object) -> Outputs:
    """The outputs of a JSON Lines file or a sequence of mappings, checked one by one.

    Raises CaseFileError with the place of an unusable output, InputError if there are none, and UsageError for any
    other type.
    """
    if isinstance(outputs, str | os.PathLike):
        path = os.fspath(outputs)
        name, mode = str(path), "jsonl_path"
        records: Iterable[tuple[str, Mapping[str, Any]]] = _records(Path(str(path)))
    elif isinstance(outputs, Sequence) and not isinstance(outputs, bytes | bytearray):
        name, mode = "outputs", "dict_list"
        records = _given(outputs)
    else:
        raise UsageError(
            f"outputs is a {type(outputs).__name__}: give the path of a JSON Lines file, or a list of {_SHAPE}"
        )
    items: list[Output] = []
    places: dict[str, str] = {}
    for place, values in records:
        item = _output(values, name, place)
        key = item.prediction.case_id
        if key in places:
            raise CaseFileError(
                f"the question_id {item.question_id!r} occurs twice, first in {places[key]}: "
                "only one of them can count; take out the other",
                path=name,
                place=place,
            )
        places[key] = place
        items.append(item)
    if not items:
        raise InputError(f"{name}: it contains no outputs: each is {_SHAPE}")
    return Outputs(name=name, mode="jsonl_path" if mode == "jsonl_path" else "dict_list", items=tuple(items))


def check_known(outputs: Outputs, questions: Mapping[str, Case], questions_path: str) -> None:
    """Raise InputError if outputs answer unknown questions, or repeat another question's text."""
    unknown = [item.question_id for item in outputs.items if item.prediction.case_id not in questions]
    if unknown:
        shown = ", ".join(repr(one) for one in unknown[:_MOST_NAMED])
        more = f" and {len(unknown) - _MOST_NAMED:,} more" if len(unknown) > _MOST_NAMED else ""
        examples = ", ".join(repr(number) for number in list(questions)[:3])
        raise InputError(
            f"{outputs.name}: question_id {shown}{more} of {len(outputs.items):,} outputs not in {questions_path}: "
            f"its {len(questions):,} ids are like {examples}. Are these the outputs to this version of LLMSQL?"
        )
    for item in outputs.items:
        asked = questions[item.prediction.case_id].question
        # A prompt that contains the question repeats it, too.
        if item.question is not None and " ".join(asked.split()) not in " ".join(item.question.split()):
            raise CaseFileError(
                f"its question is {shortened(item.question, most=160)}, and that of {item.question_id!r} is "
                f"{shortened(asked, most=160)}: are these its outputs?",
                path=outputs.name,
                place=item.place,
            )


def _records(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """The objects of a JSON Lines file with their places, blank lines left out."""
    import msgspec

    text = read_text(path, hint="save it as UTF-8")
    if text.lstrip()[:1] == "[":
        raise CaseFileError(f"is a JSON list: write one object per line, for example {_SHAPE}", path=str(path))
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    try:
        return [
            (f"line {number}", decode(line))
            for number, line in enumerate(lines_of(text), start=1)
            if line and not line.isspace()
        ]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # Slower, but it knows the fault and its location; it also reads values that the fast one cannot, e.g. NaN.
        return [(record.place, record.values) for record in json_lines_table(path).records]


def _given(outputs: Sequence[object]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, one in enumerate(outputs):
        if not isinstance(one, Mapping):
            raise UsageError(f"item {number + 1} of outputs is a {type(one).__name__}: each output is {_SHAPE}")
        yield f"item {number + 1}", one


def _output(values: Mapping[str, Any], name: str, place: str) -> Output:
    question_id = values.get("question_id")
    key = _key(question_id)
    if key is None:
        raise _no_id(values, name, place)
    answers = [values[field] for field in _ANSWERS if field in values]
    if not answers:
        others = {key: value for key, value in values.items() if key != "question_id"}
        hint = _suggestion(others, _ANSWERS, ALIASES["prediction"])
        raise CaseFileError(f'has neither "completion" nor "predicted_sql", {hint}', path=name, place=place)
    if len(answers) == 2 and answers[0] != answers[1]:
        raise CaseFileError('has both "completion" and "predicted_sql", and they differ', path=name, place=place)
    answer = answers[0] if (text := completion_of(answers[0])) is None else text
    if not (answer is None or isinstance(answer, str)):
        field = next(field for field in _ANSWERS if field in values)
        raise CaseFileError(f'"{field}" is {str(answer)[:40]!r}, no text: write {_SHAPE}', path=name, place=place)
    echo = values.get("question")
    origin = f"{os.path.basename(name)}, {place}"
    return Output(
        question_id=question_id,
        prediction=Prediction(case_id=key, query=answer or "", origin=origin),
        question=echo if isinstance(echo, str) and echo.strip() else None,
        place=place,
    )


def _key(question_id: object) -> str | None:
    """The key of an id: 7, 7.0, "7" and "007" have the same key. None if the value is not an id."""
    if isinstance(question_id, bool):
        return None
    if isinstance(question_id, int):
        return str(question_id)
    if isinstance(question_id, float) and question_id.is_integer():
        return str(int(question_id))
    if isinstance(question_id, str) and (text := question_id.strip()):
        return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 100 else text
    return None


def _no_id(values: Mapping[str, Any], name: str, place: str) -> CaseFileError:
    if "question_id" in values:
        problem = f'"question_id" is {values["question_id"]!r}: it must be a whole number or a text'
    else:
        problem = f'has no "question_id", {_suggestion(values, ("question_id",), ALIASES["id"])}'
    return CaseFileError(problem, path=name, place=place)


def _suggestion(values: Mapping[str, Any], wanted: Sequence[str], aliases: Sequence[Sequence[str]]) -> str:
    names = [str(name) for name in values]
    known = [*wanted, *(name for tier in aliases for name in tier)]
    near = next((name for name in names if closest(name, known, cutoff=0.75)), None)
    guess = f': rename "{near}" to "{wanted[0]}"' if near else f": an output is {_SHAPE}"
    return f"only {listed(names) or 'nothing'}{guess}"
