"""Spider 2.0's folders as they come: gold results with columns that count, and a folder of predictions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.cases.fields import closest, did_you_mean, listed
from assay.cases.from_records import unanswered
from assay.cases.given.files import ResultFiles, of_answer, of_gold
from assay.cases.options import counted_columns
from assay.cases.records import Record, shortened
from assay.cases.text.decoding import read_text
from assay.cases.values import UnusableValue, context_of, name_of, text_of
from assay.errors import CaseFileError
from assay.model import Case, CaseOptions, ColumnUse, FieldNames, GivenResult, Prediction
from assay.ports import LoadedCases, LoadedPredictions

_RESULTS, _EVALUATION = "exec_result", "*eval*.jsonl"
_QUESTIONS = ("spider2-lite", "spider2-snow")
_GOLDS = (Path(), Path("gold"), Path("evaluation_suite/gold"))
"""The folders that may hold the gold results, relative to the folder that is named."""
_RULES = ("condition_cols", "ignore_order")
"""What a line of the evaluation says besides its instance."""
_ANSWERS = frozenset({".sql", ".csv"})
_BESIDE = frozenset({".md", ".log", ".json", ".jsonl", ".yaml", ".yml", ".py", ".zip", ".gz"})
"""Files next to predictions that are clearly not predictions."""
_KIND = re.compile(r"[a-z_]+?(?=_?\d)")
_ENGINES = {"bq": "bigquery", "ga": "bigquery", "local": "sqlite", "sf": "snowflake", "sf_bq": "snowflake"}
_ENGINES |= {"sf_local": "snowflake", "sf_ga": "snowflake"}
"""The engine of a question by the beginning of its id."""
_FENCED = re.compile(r"```sql\n(.*?)\n```", re.DOTALL)
"""The query that the script takes from a text: the first of those that are fenced."""
_INSTANCE = re.compile(r"(?:sf_)?(?:bq|ga|local|sf|snow|dbt)_?\d{3,}", re.ASCII)
"""The benchmark's own ids, by which a folder of few results is told from any folder with tables in it."""
_USES = (ColumnUse(field="id", column="instance_id"), ColumnUse(field="gold", column="exec_result"))


class Spider2Format:
    """Spider 2.0 lite and snow: ``gold/exec_result/ID.csv`` (``ID_a.csv``, ``ID_b.csv`` …, any of them is right), with
    ``condition_cols`` and ``ignore_order`` in ``gold/*eval.jsonl``; the questions in ``spider2-lite.jsonl``; and a
    folder of predictions, ``ID.sql`` or ``ID.csv``.

    For the questions name their file, the folder above it, or the gold folder. An error in one gold result is the
    failure of that result.
    """

    name = "spider2"
    takes_encoding = True
    answers_in_folder = True

    def recognises(self, path: Path) -> bool:
        """Whether this is such a folder, or the file of questions or of the evaluation in one."""
        if path.is_dir():
            return _gold_below(path) is not None or _holds_answers(path)
        if path.suffix.lower() != ".jsonl" or not path.is_file():
            return False
        return path.name.startswith(_QUESTIONS) or _gold_below(path.parent) is not None

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read questions and gold results. Raises CaseFileError with file and line."""
        layout = _Layout.of(path, fields.encoding)
        return LoadedCases(cases=tuple(layout.cases()), columns=_USES)

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read a folder of predictions. Of ``ID.sql`` and ``ID.csv`` together the query counts."""
        if not path.is_dir():
            raise CaseFileError("is not a folder: Spider 2.0's predictions are files ID.sql or ID.csv", path=str(path))
        found: dict[str, Path] = {}
        strange, results = [], set[str]()
        for file in sorted(path.iterdir()):
            suffix = file.suffix.lower()
            if file.name.startswith(".") or suffix in _BESIDE:
                continue
            if not file.is_file():
                if suffix in _ANSWERS:
                    what = (
                        "a folder"
                        if file.is_dir()
                        else "a link to nothing"
                        if file.is_symlink()
                        else "a pipe or a device"
                    )
                    raise CaseFileError(
                        f"is {what} with the name of a prediction: replace it with a file, or move it away",
                        path=str(file),
                    )
                continue
            if suffix not in _ANSWERS:
                strange.append(file.name)
                continue
            if suffix == ".csv":
                results.add(file.stem)
            if suffix == ".sql" or file.stem not in found:
                found[file.stem] = file
        if strange:
            raise CaseFileError(
                f"contains files that are not predictions: {listed(strange, most=5)}. Predictions are called "
                "ID.sql or ID.csv, by the instance_id: rename them, or move the others away",
                path=str(path),
            )
        if not found:
            below = next((entry for entry in sorted(path.iterdir()) if entry.is_dir() and _holds_answers(entry)), None)
            hint = f". The folder {below.name} in it has such files: name that" if below is not None else ""
            raise CaseFileError(
                f"contains no prediction: predictions are called ID.sql or ID.csv{hint}", path=str(path)
            )
        if twice := sorted(results & {name for name, file in found.items() if file.suffix.lower() == ".sql"}):
            what = f"{len(twice)} instances have" if len(twice) > 1 else "1 instance has"
            warnings.warn(
                f"{path}: {what} a query and a result, for example {twice[0]}.sql and {twice[0]}.csv: the query counts",
                UserWarning,
                stacklevel=2,
            )
        files = ResultFiles(path, of_answer, encoding=fields.encoding, like_pandas=True)
        return LoadedPredictions(
            predictions=tuple(_prediction(name, file, files, fields.encoding) for name, file in found.items()),
            columns=(ColumnUse(field="id", column="the files' names"),),
        )


def _prediction(name: str, file: Path, files: ResultFiles, encoding: str | None) -> Prediction:
    if file.suffix.lower() == ".csv":
        return Prediction(case_id=name, result=files.read(file.name), origin=file.name)
    try:
        text = read_text(file, encoding) if file.stat().st_size else ""
    except CaseFileError as error:
        failure = of_answer(f"{file.name}: {str(error).removeprefix(str(file)).lstrip(': ,')}")
        return Prediction(case_id=name, failure=failure, origin=file.name)
    if not text.strip():
        return Prediction(case_id=name, failure=unanswered(f"{file.name} contains no query"), origin=file.name)
    fenced = _FENCED.search(text)
    if fenced is None:
        return Prediction(case_id=name, query=text, origin=file.name)
    return Prediction(case_id=name, query=fenced[1].strip(), raw=text, origin=file.name)


def _gold_below(folder: Path) -> Path | None:
    return next((folder / place for place in _GOLDS if (folder / place / _RESULTS).is_dir()), None)


def _holds_answers(folder: Path) -> bool:
    """Whether a folder has queries by name, a result by the name of an instance, or results and nothing but them."""
    try:
        names = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    files = [entry for entry in names if entry.is_file()]
    kinds = {entry.suffix.lower() for entry in files}
    if ".sql" in kinds or (kinds == {".csv"} and len(names) > 2):
        return True
    return any(entry.suffix.lower() == ".csv" and _INSTANCE.fullmatch(entry.stem) for entry in files)


class _Layout(Struct, frozen=True, kw_only=True):
    """The locations of the questions and gold results."""

    gold: Path
    standards: Mapping[str, Record]
    """The lines of the evaluation's file by instance."""
    standard_file: Path
    questions: Mapping[str, Record]
    question_file: Path | None
    encoding: str | None

    @classmethod
    def of(cls, path: Path, encoding: str | None) -> _Layout:
        """Raises CaseFileError if something is missing."""
        gold = _gold_below(path if path.is_dir() else path.parent)
        if gold is None:
            where = ", ".join(str(place / _RESULTS) for place in _GOLDS)
            raise CaseFileError(
                f"has no gold results of Spider 2.0 next to it (looked for {where}): name the folder of the benchmark",
                path=str(path),
            )
        standard_files = sorted(gold.glob(_EVALUATION))
        if len(standard_files) != 1:
            found = [file.name for file in standard_files]
            raise CaseFileError(
                f"needs one evaluation file, for example spider2lite_eval.jsonl; found {listed(found) or 'none'}",
                path=str(gold),
            )
        (standard_file,) = standard_files
        questions = path if path.is_file() and path != standard_file else _questions(path, gold)
        return cls(
            gold=gold,
            standards=_lines(standard_file, encoding),
            standard_file=standard_file,
            questions={} if questions is None else _lines(questions, encoding),
            question_file=questions,
            encoding=encoding,
        )

    def cases(self) -> Iterator[Case]:
        """The questions in their order, then what only the evaluation has."""
        files = ResultFiles(self.gold / _RESULTS, of_gold, encoding=self.encoding, like_pandas=True)
        present: dict[str, list[str]] = {}
        for file in sorted((self.gold / _RESULTS).iterdir()):
            if file.suffix == ".csv":
                present.setdefault(re.sub(r"_[a-z]$", "", file.stem), []).append(file.name)
                present.setdefault(file.stem, [file.name])
        for name in dict.fromkeys((*self.questions, *self.standards)):
            yield self._case(name, files, present)

    def _case(self, name: str, files: ResultFiles, present: Mapping[str, list[str]]) -> Case:
        asked, standard = self.questions.get(name), self.standards.get(name)
        told: Mapping[str, Any] = {} if asked is None else asked.values
        rules: Mapping[str, Any] = {} if standard is None else standard.values
        named = re.compile(rf"{re.escape(name)}(_[a-z])?\.csv")
        variants = [file for file in present.get(name, ()) if named.fullmatch(file)]
        query = self._query(name)
        golds: tuple[str, ...] = ()
        results = tuple(files.read(file) for file in variants)
        if not variants:
            golds, results = ((query,), ()) if query is not None else ((), (self._missing(name, present),))
        counting: tuple[tuple[int, ...], ...] = ()
        said = rules.get("condition_cols")
        read = results if variants else ()
        try:
            for rule in _RULES:
                # A misspelt name: gold would be judged by another rule
                if rule not in rules and (near := closest(rule, rules, cutoff=0.8)):
                    raise UnusableValue(f'{rule} is absent, and there is "{near}": correct the name')
            lists = _lists(said)
            if lists is not None:
                counting = lists.groups * len(variants or golds) if lists.for_all else lists.groups
                results = tuple(_with_list(result, counting, at) for at, result in enumerate(results))
        except UnusableValue as error:
            failure = of_gold(f"{name}: {error.message}")
            golds, results = (), tuple(replace(result, failure=failure) for result in read or [_broken("", name)])
        script_columns: tuple[tuple[int, ...] | None, ...] | None = _script_columns(said, name, read)
        if variants and not any(result.failure for result in results):
            as_written = tuple(counting[at] if at < len(counting) else () for at in range(len(variants)))
            script_columns = None if script_columns == as_written else script_columns
        if standard is None:
            script_columns = None
            golds, results = (), (_broken(f"{self.standard_file.name} has no line for {name}", name),)
        file, record = (self.standard_file, standard) if asked is None else (self.question_file, asked)
        place = f"{file.name}, {record.place}" if file is not None and record is not None else None
        ignored = rules.get("ignore_order")
        kind = _KIND.match(name)
        try:
            return Case(
                id=name,
                question=text_of(told.get("question", told.get("instruction")), "the question") or "",
                golds=golds,
                results=results,
                result_query=query if results else None,
                database=name_of(told.get("db", told.get("db_id")), "the database's name"),
                engine=_engine_of(told.get("engine"), kind[0] if kind else None),
                tags=(kind[0],) if kind else (),
                context=context_of(told.get("external_knowledge")),
                options=CaseOptions(
                    condition_columns=counting,
                    ignore_order=bool(ignored),
                    ordered=ignored is False,
                    script_columns=script_columns,
                ),
                origin=place,
            )
        except UnusableValue as error:
            raise CaseFileError(error.message, path=place or name) from error

    def _query(self, name: str) -> str | None:
        """Gold's own query, which counts only if no result is given."""
        file = self.gold / "sql" / f"{name}.sql"
        return read_text(file, self.encoding) if file.is_file() and file.stat().st_size else None

    def _missing(self, name: str, present: Mapping[str, list[str]]) -> GivenResult:
        other = [
            file.name for file in (self.gold / _RESULTS).iterdir() if file.name.casefold() == f"{name}.csv".casefold()
        ]
        near = closest(name, present, cutoff=0.8)
        meant = other[0] if other else present[near][0] if near else None
        hint = f' (did you mean "{meant}"?)' if meant else ""
        return _broken(f"{_RESULTS} has no {name}.csv, nor one with _a, _b and so on{hint}", f"{name}.csv")


def _engine_of(said: object, kind: str | None) -> str | None:
    """The engine that the question names, else that of its id."""
    name = name_of(said, "the engine")
    return _ENGINES.get(kind or "") if name is None else name.lower()


def _broken(message: str, source: str) -> GivenResult:
    return GivenResult(source=source, failure=of_gold(message))


class _Lists(Struct, frozen=True, kw_only=True):
    """``condition_cols``: the columns that count, in one list for all results or in one for each."""

    groups: tuple[tuple[int, ...], ...]
    for_all: bool


def _lists(said: object) -> _Lists | None:
    """None: all columns count. Raises UnusableValue for an invalid position of a column."""
    columns = None if said is None else counted_columns(said)
    if columns is None or not any(columns.groups):
        return None
    if any(isinstance(one, str) for group in columns.groups for one in group):
        raise UnusableValue(f"condition_cols is {shortened(str(said))}: expected places of columns, from 0")
    groups = tuple(tuple(int(one) for one in group) for group in columns.groups)
    return _Lists(groups=groups, for_all=columns.for_all)


def _with_list(result: GivenResult, lists: Sequence[Sequence[int]], index: int) -> GivenResult:
    """The result; unusable if there are fewer lists of columns than results, and none is left for it."""
    if index < len(lists) or result.failure is not None:
        return result
    message = (
        f"{result.source}: condition_cols has {len(lists)} lists of columns, and this is result {index + 1}: write one "
        "list for each result, or one for all"
    )
    return replace(result, failure=of_gold(message))


def _script_columns(said: object, name: str, results: Sequence[GivenResult]) -> tuple[tuple[int, ...] | None, ...]:
    """The columns that the script takes for each result that it looks at.

    If there is an ``ID.csv``, it looks at no other result. It reads several results first, and fails at the first
    one if any cannot be read. If ``ID_a.csv`` is the only result, it takes the first number of a flat list for the
    list. It fails at the first result without a list, or with a column that is not there.
    """
    widths = [len(result.columns) for result in results]
    columns: tuple[tuple[int, ...] | None, ...]
    if results and results[0].source == f"{name}.csv":
        columns = (_of_iloc(said, widths[0]),)
    elif not all(widths) or not isinstance(said, (list, type(None))):
        columns = (None,) * len(results)
    elif said in (None, [], [[]], [None]):
        columns = ((),) * len(results)
    elif len(results) > 1 and not all(isinstance(each, list) for each in said):
        columns = tuple(_of_iloc(said, width) for width in widths)
    else:
        columns = tuple(_of_iloc(said[at], width) if at < len(said) else None for at, width in enumerate(widths))
    return columns


def _of_iloc(said: object, width: int) -> tuple[int, ...] | None:
    """The places that ``DataFrame.iloc[:, said]`` takes of this number of columns; None: it fails."""
    if not said:
        return ()
    places = said if isinstance(said, list) else [said]
    if all(isinstance(place, bool) for place in places):  # a mask
        return tuple(at for at, chosen in enumerate(places) if chosen) if len(places) == width else None
    if not all(isinstance(place, (int, float)) and -width <= place < width for place in places):
        return None
    return tuple(map(int, places))


def _questions(path: Path, gold: Path) -> Path | None:
    """The file of questions: next to the folder of gold results, or up to two folders above it."""
    folder = path if path.is_dir() else path.parent
    for place in dict.fromkeys((folder, gold, *list(gold.resolve().parents)[:2])):
        found = [file for file in sorted(place.glob("spider2*.jsonl")) if "eval" not in file.name]
        if len(found) > 1:
            raise CaseFileError(
                f"has several files of questions: name one of {listed([file.name for file in found])}", path=str(place)
            )
        if found:
            return found[0]
    return None


def _lines(path: Path, encoding: str | None) -> dict[str, Record]:
    from assay.cases.text.json import json_lines_table

    found: dict[str, Record] = {}
    for record in json_lines_table(path, encoding=encoding).records:
        try:
            name = name_of(record.values.get("instance_id"), "instance_id")
        except UnusableValue as error:
            raise CaseFileError(error.message, path=str(path), place=record.place) from error
        if name is None:
            hint = did_you_mean("instance_id", record.values, form="; {}")
            raise CaseFileError(f"has no instance_id{hint}", path=str(path), place=record.place)
        if name in found:
            raise CaseFileError(
                f'the id "{name}" occurs twice: at {found[name].place} and here', path=str(path), place=record.place
            )
        found[name] = record
    return found
