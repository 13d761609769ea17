"""Turn records into cases and predictions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, starmap
from typing import Any, TypeVar

from msgspec.structs import replace

from assay.cases.conversations import Conversations, flattened
from assay.cases.decisions import Expectations
from assay.cases.extras import Extras, named_column, read_at
from assay.cases.field_readers import FieldReader, identifier_of, question_text, reader_of
from assay.cases.fields import (
    ALIASES,
    BOTH_SIDES,
    POSITION,
    WITHOUT_GOLD,
    Field,
    columns_of,
    describe,
    listed,
    missing_columns,
    normal,
)
from assay.cases.given.files import ResultFiles, of_answer, of_gold
from assay.cases.given.values import (
    answer_or_rows,
    counted_places,
    golds_and_results,
    listed_results_of,
    results_of,
)
from assay.cases.options import counted_columns_of, options_of
from assay.cases.paths import paths_within, texts_within, with_path
from assay.cases.records import Record, Table, holds_query, is_query_text, shortened
from assay.cases.values import (
    context_of,
    is_absent,
    name_of,
    tags_of,
)
from assay.errors import CaseFileError
from assay.model import Case, ColumnUse, Failure, FieldNames, GivenResult, Prediction
from assay.platform.spool import spooled
from assay.ports import Column, LoadedCases, LoadedPredictions

T = TypeVar("T")


def read_cases(table: Table, fields: FieldNames) -> LoadedCases:
    """The cases of a question set, in the file's order.

    If the file has no ids, a case's id is its zero-based row number, blank rows not counted. A file whose prediction is
    named needs no questions; with the gold column `WITHOUT_GOLD` it needs no gold queries. Raises CaseFileError with
    file, row and column: no question column or gold column, a blank question or id, a value of the wrong type.
    """
    table = flattened(table, ids=_names("id"), own=_names("question"))
    records = table.records if table.plain else tuple(record for record in table.records if not record.blank)
    _require(records, table, "question")
    named = (
        *(fields.id, fields.question, fields.gold, fields.database, fields.difficulty, fields.tags, fields.context),
        fields.answerable,
    )
    table = _with_paths(replace(table, records=records), named)
    files, in_text = ResultFiles(table.path.parent, of_gold), table.golds_in_text
    without_gold = fields.gold == WITHOUT_GOLD
    golds = reader_of(table, "gold", fields.gold, partial(golds_and_results, files=files, in_text=in_text))
    results = _results(table, files, table.columns if without_gold else golds.columns)
    if results.columns and fields.gold is None:
        path = str(table.path)
        others = columns_of("question", None, table.columns, path=path, without=golds.columns)
        if not others and columns_of("question", None, golds.columns, path=path):
            # The only column that may hold gold's query is also the only one that may hold the question
            golds = FieldReader(golds.path, golds.field, (), golds.convert)
    questions = reader_of(table, "question", fields.question, question_text, without=golds.columns)
    if not questions.columns and fields.prediction is not None:
        questions = FieldReader(questions.path, "question", (), lambda _: "")
    missing: list[Field] = []
    if not questions.columns and fields.prediction is None:
        missing.append("question")
    if not golds.columns and not results.columns and not without_gold:
        missing.append("gold")
    _require_columns(table, missing, taken=(*questions.columns, *golds.columns))
    ids = identifier_of(table, fields, of_questions=True)
    databases = reader_of(table, "database", fields.database, partial(name_of, what="the database's name"))
    difficulties = reader_of(table, "difficulty", fields.difficulty, partial(name_of, what="the difficulty"))
    tags = reader_of(table, "tags", fields.tags, tags_of)
    contexts = reader_of(table, "context", fields.context, context_of)
    options = reader_of(table, "options", None, options_of)
    counted = reader_of(table, "options", None, counted_columns_of)
    expectations = Expectations(table.columns, named=named_column(table, "answerable", fields.answerable))
    conversations = Conversations.of(table, questions.columns[0] if questions.columns else "")
    file, path = table.path.name, str(table.path)

    def case(number: int, record: Record) -> Case:
        queries, given = golds.read(record)
        expects, queries = read_at(path, record, (), expectations.of, record, queries)
        if results.columns:
            given += results.read(record)
        judged_by = options.read(record)
        if (columns := counted.read(record)) is not None:
            places = counted_places(columns, len(queries), given, table.path, record)
            judged_by = replace(judged_by, condition_columns=places)
        place, database = conversations.place_of(record), databases.read(record)
        conversations.on_one_database(path, record, place.conversation, database)
        return Case(
            id=ids.read(record) if ids else str(number),
            question=questions.read(record),
            golds=queries,
            results=given,
            expects=expects,
            database=database,
            difficulty=difficulties.read(record),
            tags=tags.read(record),
            context=contexts.read(record),
            options=judged_by,
            origin=f"{file}, {record.place}",
            conversation=place.conversation,
            turn=place.turn,
            history=place.history,
        )

    cases = spooled(starmap(case, enumerate(table.records)), Case)
    readers = (ids, questions, golds, results, databases, difficulties)
    used: list[FieldReader[Any]] = [reader for reader in readers if reader is not None]
    read = [column for reader in (*used, tags, contexts, options, counted) for column in reader.columns]
    return LoadedCases(
        cases=cases,
        by_position=ids is None,
        stated=fields.id == POSITION,
        columns=_uses(used),
        beside=_beside(table, used),
        left_out=table.left_out,
        unread=_unread(table, (*read, *expectations.columns, *conversations.columns)),
    )


def _results(table: Table, files: ResultFiles, taken: Sequence[str]) -> FieldReader[tuple[GivenResult, ...]]:
    """The reader of expected results. A column named in the plural holds several, any of them is right."""
    several = columns_of("result", None, table.columns, path=str(table.path), without=taken)
    plural = any(normal(column).endswith("results") for column in several)
    convert = partial(listed_results_of if plural else results_of, files=files, in_text=table.golds_in_text)
    return reader_of(table, "result", None, convert, without=taken)


def read_predictions(table: Table, fields: FieldNames) -> LoadedPredictions:
    """The predictions of a file, in its order; by position if it has no ids.

    A null or absent prediction has no query, and a failure that says so; so does a blank one if the format does
    not distinguish them. A blank row keeps its position, and is ignored if there are ids. If positions are asked for
    and the file is an object whose keys are exactly the positions, the keys are used. Raises CaseFileError with file,
    row and column.
    """
    table = flattened(table, ids=_names("id"), own=_names("prediction"))
    _require(table.records, table, "prediction")
    named = (
        *(fields.id, fields.prediction, fields.shared_id, fields.decision, fields.confidence),
        *(fields.context_tables, fields.context_columns),
    )
    table = _with_paths(table, named)
    files = ResultFiles(table.path.parent, of_answer)
    read = partial(answer_or_rows, files=files, what="the predicted query")
    queries = reader_of(table, "prediction", fields.prediction, read)
    rows = reader_of(table, "rows", None, partial(results_of, files=files, in_text=table.golds_in_text))
    if not queries.columns and not rows.columns:
        _require_columns(table, ["prediction"], taken=_of_questions(table, fields))
    if fields.prediction is None and queries.columns:
        _no_other_prediction(table, queries.columns)
    ids = identifier_of(table, fields, of_questions=False)
    extras = Extras(table, fields)
    file = table.path.name
    positions = _positions(table) if ids is None else ()
    records = table.records
    if ids is not None and not table.plain:
        records = tuple(record for record in records if not record.blank)

    def prediction(number: int, record: Record) -> Prediction:
        said = queries.read(record)
        if said == "" and table.blank_is_absent:
            said = None
        if said is None and rows.columns:
            results = rows.read(record)
            if len(results) > 1:
                raise CaseFileError(
                    "an answer is one result, and any_of gives several", path=str(table.path), place=record.place
                )
            said = results[0] if results else None
        query, result = (said, None) if isinstance(said, str) else (None, said)
        decision = extras.decision(record)
        silent = said is None and decision not in ("decline", "clarify")
        given = extras.given(record)
        return Prediction(
            case_id=ids.read(record) if ids else positions[number],
            query=query,
            result=result,
            timings_s=extras.timings(record),
            tokens=extras.tokens(record),
            cost_usd=extras.cost(record),
            context_tables=given.tables,
            context_columns=given.columns,
            failure=unanswered(f"{file}, {record.place}, contains no query{_error_of(record)}") if silent else None,
            decision=decision,
            confidence=extras.confidence(record),
            origin=f"{file}, {record.place}",
        )

    used: list[FieldReader[Any]] = [reader for reader in (ids, queries, rows) if reader is not None]
    return LoadedPredictions(
        predictions=spooled(starmap(prediction, enumerate(records)), Prediction),
        by_position=ids is None,
        stated=fields.id == POSITION,
        chosen=fields.id == POSITION,
        columns=(*_uses(used), *extras.context_uses),
        beside=_beside(replace(table, records=records), used),
        left_out=table.left_out,
        unread=_unread(table, (*(column for reader in used for column in reader.columns), *extras.columns)),
    )


def _of_questions(table: Table, fields: FieldNames) -> tuple[str, ...]:
    """The columns of a file without predictions that hold the questions, the gold queries, or another of their fields.

    ``fields.gold`` names the gold query's column if the file is the question set, too.
    """
    path, found = str(table.path), [fields.gold] if fields.gold in table.columns else []
    if not found and not all(columns_of(field, None, table.columns, path=path) for field in ("gold", "question")):
        return ()
    for field in ("id", "gold", "question", "database", "difficulty", "tags"):
        found += columns_of(field, None, table.columns, path=path, without=found)
    return tuple(column for column in found if column is not None)


def _names(field: Field) -> list[str]:
    return [name for tier in ALIASES[field] for name in tier]


def _with_paths(table: Table, names: Iterable[str | None]) -> Table:
    for name in names:
        if name is not None and name not in (POSITION, WITHOUT_GOLD):
            table = with_path(table, name)
    return table


def _uses(readers: Iterable[FieldReader[Any]]) -> tuple[ColumnUse, ...]:
    """Which column was used for which field; a bare text and an object's key have no column."""
    return tuple(
        ColumnUse(field=reader.field, column="its keys" if reader.keyed else column)
        for reader in readers
        for column in (("",) if reader.keyed else reader.columns)
    )


def _beside(table: Table, readers: Iterable[FieldReader[Any]]) -> tuple[Column, ...]:
    """The columns that were not used for a field, or whose content a prediction may repeat."""
    taken = {column for reader in readers if reader.field != "database" for column in reader.columns}
    return tuple(
        Column(name=name, values=tuple(record.values.get(name) for record in table.records))
        for name in table.columns
        if name not in taken
    )


def _unread(table: Table, read: Sequence[str]) -> tuple[str, ...]:
    """The filled columns of a table that were not read as a field; none of a file without a header, such as JSON."""
    if not table.header_hint:
        return ()
    used = {*read, *(re.split(r"[.\[]", path)[0] for path in read)}
    return tuple(
        name
        for name in table.columns
        if name not in used
        and not name.startswith("Unnamed: ")
        and any(not is_absent(value) and value != "" for record in table.records if (value := record.values.get(name)))
    )


def _positions(table: Table) -> Sequence[str]:
    """The zero-based positions of records: their keys, if these are exactly the positions; else their rows."""
    rows = [str(number) for number in range(len(table.records))]
    keys = [] if table.plain else [record.key.strip() if record.key else "" for record in table.records]
    return keys if set(keys) == set(rows) else rows


def _no_other_prediction(table: Table, chosen: Sequence[str]) -> None:
    """Raise if the chosen column's name may also mean gold, and another column holds queries that may be answers."""
    if not all(normal(column) in BOTH_SIDES for column in chosen):
        return
    for column in table.columns:
        name = normal(column)
        of_question = any(name in map(normal, tier) for tier in ALIASES["question"])
        if column in chosen or of_question or _SPEAKS_OF_GOLD.search(name) is not None:
            continue
        values = [value for record in table.records if (value := record.values.get(column)) is not None]
        if sum(map(holds_query, values)) * 2 > len(values):
            names = texts_within(next(filter(holds_query, values)), column) or (column,)
            raise CaseFileError(
                f'"{chosen[0]}" may contain the gold queries, and "{column}" contains queries, too: '
                f"name the column of the predicted queries, for example {listed(names)}",
                path=str(table.path),
            )


_SPEAKS_OF_GOLD = re.compile(r"gold|referenc|truth|expected|target|solution")


def unanswered(message: str) -> Failure:
    """The failure of a case for which the system returned no query."""
    return Failure(stage="ask", kind="unanswered", blame="system", message=message)


def _error_of(record: Record) -> str:
    """For a message, the error that a record without a query reports, ``error`` or ``error.message``; else empty."""
    error = record.values.get("error")
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("code")
    return f": {shortened(' '.join(error.split()), most=_LONGEST_ERROR)}" if isinstance(error, str) and error else ""


_LONGEST_ERROR = 200
"""Characters of an error that a message repeats."""


def _require(records: Sequence[Record], table: Table, field: Field) -> None:
    if not records:
        raise CaseFileError(
            f"contains no row with {describe(field)}. Was it written completely?",
            path=str(table.path),
        )


_LOOKED_AT = 50
_LEAST_WORDS = 2
"""How many words a question has on average at least."""
_LEAST_DISTINCT = 0.9
"""The share of different texts in a column of questions."""


def _require_columns(table: Table, missing: Sequence[Field], *, taken: Sequence[str]) -> None:
    """Raise CaseFileError if fields are missing, with the columns whose content looks like them."""
    if not missing:
        return
    queries: list[str] = []
    texts: dict[str, bool] = {}  # whether most of them are written as questions
    records = [record for record in islice(table.records, _LOOKED_AT) if not record.blank]
    for column in table.columns:
        values = [record.values.get(column) for record in records]
        written = [value for value in values if isinstance(value, str) and value.strip()]
        if column in taken or not written:
            continue
        if sum(map(holds_query, written)) * 2 > len(written):
            queries.append(column)
        elif len(written) < len(values) or len(set(written)) < _LEAST_DISTINCT * len(written):
            continue  # a hint, a category: each case has a question of its own
        elif sum(len(text.split()) for text in written) >= _LEAST_WORDS * len(written):
            texts[column] = sum(text.rstrip().endswith("?") for text in written) * 2 > len(written)
    asking = [column for column, asks in texts.items() if asks]
    questions = asking if len(asking) == 1 else [*texts] if len(texts) == 1 else []
    if table.header_hint:
        _check_header(table, missing, queries, records)
    raise missing_columns(
        {field: questions if field == "question" else queries for field in missing},
        table.columns,
        path=str(table.path),
        within=paths_within(table),
        used=taken if "prediction" in missing else (),
        hint=table.header_hint,
    )


def _check_header(table: Table, missing: Sequence[Field], queries: Sequence[str], records: Sequence[Record]) -> None:
    """Raise CaseFileError if the row taken for the header is a row of data, or if the one below looks like it.

    ``queries`` are the columns in which most of the ``records`` have a query.
    """
    what = f"no column found for {' or '.join(map(describe, missing))}"
    data = next(filter(is_query_text, table.columns), None)
    if data is not None:
        names = "id,predicted_sql" if "prediction" in missing else "id,question,gold_sql"
        raise CaseFileError(
            f"{what}: the header has the query {shortened(data)}, so it looks like a row of data. If the file has no "
            f"header, write one above it, for example  {names}. {table.header_hint}",
            path=str(table.path),
        )
    first, *others = records or (None,)
    if first is None or not queries or not others:
        return
    texts = [value for value in first.values.values() if value is not None and value != ""]
    named = all(isinstance(text, str) and _NAME.fullmatch(text) and not holds_query(text) for text in texts)
    if named and all(first.values.get(column) for column in queries) and holds_query(others[0].values.get(queries[0])):
        raise CaseFileError(
            f"{what}; the columns are {listed(table.columns)}, but {first.place} looks more like the header: "
            f"{listed([str(text) for text in texts])}. {table.header_hint}",
            path=str(table.path),
        )


_NAME = re.compile(r"(?=.*[^\W\d_])[^?;=*]{1,60}")
"""What the name of a column may be, and a question, a number or a query is not."""
