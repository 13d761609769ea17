"""Answers reach their own questions, or nobody's: files of every kind, of which it is known what belongs together."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from assay.api.inputs import FileOptions, Inputs, read_inputs
from assay.errors import InputError
from assay.model import Case, FieldNames
from many_cases import each

NAMES = (
    *("id", "case_id", "question_id", "index", "ID"),
    *("nr", "Nr", "key", "question_no", "test_id", "case", "#", "Frage", "label", "ticket", ""),
)
KINDS = ("rows from 0", "rows from 1", "mixed numbers", "words", "padded", "upper", "floats")
QUERY = "SELECT '{}'"


class Files(Struct, frozen=True, kw_only=True):
    """How a pair of files is made. ``None`` for a name: no such column."""

    count: int
    case_id: str | None
    prediction_id: str | None
    case_kind: str
    prediction_kind: str
    seed: int
    shuffled: bool
    dropped: int
    added: int
    echo: str | None
    twins: bool
    noise: bool
    suffix: str
    named: bool
    keyed: bool = False

    @property
    def tells(self) -> bool:
        """Whether anybody could tell that rows are mixed: by an id, or by questions that differ."""
        return self.prediction_id is not None or self.keyed or (self.echo is not None and not self.twins)


@st.composite
def pairs_of_files(draw: st.DrawFn) -> Files:
    made = Files(
        count=draw(st.integers(2, 7)),
        case_id=draw(st.none() | st.sampled_from(NAMES)),
        prediction_id=draw(st.none() | st.sampled_from(NAMES)),
        case_kind=draw(st.sampled_from(KINDS[:4])),
        prediction_kind=draw(st.sampled_from(KINDS)),
        seed=draw(st.integers(0, 99)),
        shuffled=draw(st.booleans()),
        dropped=draw(st.sampled_from((0, 0, 1))),
        added=draw(st.sampled_from((0, 0, 1))),
        echo=draw(st.none() | st.sampled_from(("question", "Question", "nl_question"))),
        twins=draw(st.booleans()),
        noise=draw(st.booleans()),
        suffix=draw(st.sampled_from((".jsonl", ".json", ".csv"))),
        named=draw(st.booleans()),
        keyed=draw(st.booleans()),
    )
    if made.suffix != ".json" or made.prediction_id is not None:
        made = replace(made, keyed=False)
    if made.case_id is None and made.prediction_kind == "mixed numbers":
        # Questions without ids are numbered by row, and so predictions call them: no other numbers from 0 would do.
        made = replace(made, prediction_kind="rows from 0")
    # Rows without any mark that are mixed, or of which one is another's, look like rows in order to everybody.
    return made if made.tells else replace(made, shuffled=False, dropped=0 if made.added else made.dropped)


def ids_of(kind: str, count: int, seed: int) -> list[object]:
    numbers: list[object] = list(range(count))
    if kind == "rows from 1":
        return [place + 1 for place in range(count)]
    if kind == "mixed numbers":
        random.Random(seed).shuffle(numbers)
    if kind == "words":
        return [f"q{(place * 7 + seed) % 100}" for place in range(count)]
    return numbers


def written(value: object, kind: str) -> object:
    text = str(value)
    return {
        "padded": text.zfill(4) if text.isdigit() else text,
        "upper": text.upper(),
        "floats": f"{text}.0" if text.isdigit() else text,
    }.get(kind, value)


def write(path: Path, rows: Sequence[dict[str, object]], *, keys: Sequence[object] | None = None) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            names = list(rows[0])
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows([row[name] for name in names] for row in rows)
    elif path.suffix == ".json":
        held = rows if keys is None else {str(key): row for key, row in zip(keys, rows, strict=True)}
        path.write_text(json.dumps(held), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make(folder: Path, made: Files) -> tuple[Path, Path, FileOptions]:
    """Write both files; the query of each prediction names the place of the question that it truly answers."""
    chance = random.Random(made.seed)
    ids = ids_of(made.case_kind, made.count, made.seed)
    questions = [f"how many {place // 2 if made.twins else place}?" for place in range(made.count)]
    cases: list[dict[str, object]] = []
    for place in range(made.count):
        row: dict[str, object] = {} if made.case_id is None else {made.case_id: ids[place]}
        cases.append({**row, "question": questions[place], "gold_sql": f"SELECT {place}"})
    answered = list(range(made.count))
    if made.shuffled:
        chance.shuffle(answered)
    answered = answered[made.dropped :] + [made.count + extra for extra in range(made.added)]
    # A file of predictions has the questions' ids; where they have none, ids of its own making.
    own = ids if made.case_id is not None else ids_of(made.prediction_kind, made.count, made.seed)
    own = [*own, *(f"extra{extra}" if made.case_kind == "words" else 1000 + extra for extra in range(made.added))]
    rows: list[dict[str, object]] = []
    for place in answered:
        row = {} if made.prediction_id is None else {made.prediction_id: written(own[place], made.prediction_kind)}
        row["predicted_sql"] = QUERY.format(place)
        if made.echo is not None:
            row[made.echo] = questions[place] if place < made.count else "what else?"
        if made.noise:
            row |= {"model": "m", "latency_ms": chance.randrange(10**6), "tokens_used": chance.randrange(10**6)}
        rows.append(row)
    keys = [written(own[place], made.prediction_kind) for place in answered] if made.keyed else None
    options = FileOptions()
    if made.named and made.case_id:
        options = FileOptions(
            case_fields=FieldNames(id=made.case_id), prediction_fields=FieldNames(id=made.prediction_id or None)
        )
    cases_path = write(folder / f"cases{'.jsonl' if made.suffix == '.json' else made.suffix}", cases)
    return cases_path, write(folder / f"predictions{made.suffix}", rows, keys=keys), options


def assert_own(inputs: Inputs) -> None:
    """Every case has its own answer, or none."""
    for place, answer in enumerate(inputs.predictions):
        assert answer.query in (None, QUERY.format(place))
    assert inputs.joining is not None


BASE = Files(
    count=5,
    case_id="id",
    prediction_id="id",
    case_kind="words",
    prediction_kind="words",
    seed=3,
    shuffled=True,
    dropped=0,
    added=0,
    echo=None,
    twins=False,
    noise=False,
    suffix=".jsonl",
    named=False,
)


@settings(max_examples=400)
@given(pairs_of_files(), st.booleans())
@example(BASE, False)
@example(replace(BASE, prediction_id="question_no"), False)
@example(replace(BASE, case_id=None, prediction_id="label"), True)
@example(
    replace(BASE, case_id=None, prediction_id="id", prediction_kind="rows from 1", shuffled=False, dropped=1), True
)
@example(replace(BASE, case_id="nr", prediction_id="nr", named=True), False)
@example(replace(BASE, case_id=None, prediction_id="", prediction_kind="rows from 0", suffix=".csv"), False)
def test_each_case_is_scored_against_its_own_answer_or_nothing_is_scored(
    tmp_path_factory: pytest.TempPathFactory, made: Files, allow: bool
) -> None:
    cases, predictions, options = make(tmp_path_factory.mktemp("files"), made)
    try:
        inputs = read_inputs(cases, predictions, options, allow_unmatched=allow)
    except InputError:
        return  # which is as good as an own answer: the test is of what must never be scored
    assert_own(inputs)


@each("name", ["id", "question_id", "case_id"])
@each("kind", KINDS)
@each("suffix", [".jsonl", ".json", ".csv"])
def test_ids_under_a_known_name_join_in_any_order_and_writing(
    tmp_path: Path, name: str, kind: str, suffix: str
) -> None:
    made = replace(BASE, case_id=name, prediction_id=name, prediction_kind=kind, suffix=suffix, dropped=1, noise=True)
    cases, predictions, options = make(tmp_path, made)
    inputs = read_inputs(cases, predictions, options, allow_unmatched=False)
    assert inputs.joining is not None
    assert inputs.joining.by == "id"
    assert_own(inputs)
    assert [answer.query is None for answer in inputs.predictions].count(True) == 1


@each("name", ["question_no", "key", "Nr", "test_id", "case", "label", "Frage"])
def test_an_id_under_another_name_is_offered_and_serves_once_it_is_named(tmp_path: Path, name: str) -> None:
    cases, predictions, options = make(tmp_path, replace(BASE, prediction_id=name))
    with pytest.raises(InputError, match=f'Did you mean --prediction-id-column "{name}"'):
        read_inputs(cases, predictions, options, allow_unmatched=False)
    named = FileOptions(prediction_fields=FieldNames(id=name))
    assert_own(read_inputs(cases, predictions, named, allow_unmatched=False))


@pytest.mark.parametrize("name", ["ref", "Frage", "label"])
def test_the_name_of_the_questions_id_serves_both_files(tmp_path: Path, name: str) -> None:
    made = replace(BASE, case_id=name, prediction_id=name)
    cases, predictions, _ = make(tmp_path, made)
    with pytest.raises(InputError, match=f'--id-column "{name}"'):
        read_inputs(cases, predictions, FileOptions(), allow_unmatched=False)
    named = FileOptions(case_fields=FieldNames(id=name))
    inputs = read_inputs(cases, predictions, named, allow_unmatched=False)
    assert_own(inputs)
    assert all(answer.query is not None for answer in inputs.predictions)


@each("case_id", [None, "id"])
@each("dropped", [0, 1])
def test_answers_that_repeat_their_questions_join_by_them(tmp_path: Path, case_id: str | None, dropped: int) -> None:
    made = replace(BASE, case_id=case_id, prediction_id=None, echo="question", dropped=dropped)
    inputs = read_inputs(*make(tmp_path, made), allow_unmatched=False)
    assert inputs.joining is not None
    assert (inputs.joining.by, inputs.joining.questions_compared) == ("question", 5 - dropped)
    assert_own(inputs)


def test_an_object_from_questions_to_queries_joins_by_question(tmp_path: Path) -> None:
    cases, _, options = make(tmp_path, BASE)
    answers = {f"how  many {place}?": QUERY.format(place) for place in (3, 0, 4, 1, 2)}
    inputs = read_inputs(cases, answers, options, allow_unmatched=False)
    assert inputs.joining is not None
    assert inputs.joining.by == "question"
    assert_own(inputs)


@each(
    ("echoed", "same"),
    [
        ("how many 0?", True),
        ("  how\u00a0many\n0? ", True),
        ("ｈｏｗ many 0?", True),
        ("", True),
        ("How many 0?", False),
        ("how many 1?", False),
    ],
)
def test_a_repeated_question_must_be_the_cases(tmp_path: Path, echoed: str, same: bool) -> None:
    cases, _, options = make(tmp_path, replace(BASE, count=2))
    rows = [{"id": case_id, "sql": QUERY.format(place)} for place, case_id in enumerate(ids_of("words", 2, 3))]
    predictions = write(tmp_path / "p.jsonl", [{**rows[1], "question": "how many 1?"}, {**rows[0], "question": echoed}])
    if same:
        assert_own(read_inputs(cases, predictions, options, allow_unmatched=False))
        return
    with pytest.raises(InputError) as caught:
        read_inputs(cases, predictions, options, allow_unmatched=False)
    message = str(caught.value)
    assert all(part in message for part in ("line 2", repr(echoed), "'how many 0?'", "--ignore-questions"))
    assert_own(read_inputs(cases, predictions, replace(options, ignore_questions=True), allow_unmatched=False))


def test_a_repeated_database_must_be_the_cases(tmp_path: Path) -> None:
    held = [{"question": name, "gold": "x", "db_id": name} for name in ("shop", "bank")]
    cases = write(tmp_path / "c.jsonl", held)
    (tmp_path / "p.sql").write_text("SELECT 1\tshop\nSELECT 2\tbank\n")
    assert read_inputs(cases, tmp_path / "p.sql", FileOptions(), allow_unmatched=False).joining is not None
    (tmp_path / "p.sql").write_text("SELECT 2\tbank\nSELECT 1\tshop\n")
    with pytest.raises(InputError, match=r"line 1: its database is 'bank'.*\(joined by position\) is 'shop'"):
        read_inputs(cases, tmp_path / "p.sql", FileOptions(), allow_unmatched=False)


@each(("rows", "limit", "joined"), [(3, None, True), (2, None, False), (4, None, False), (2, 2, True)])
def test_by_position_both_are_as_many(tmp_path: Path, rows: int, limit: int | None, joined: bool) -> None:
    made = replace(BASE, count=3, case_id=None, prediction_id=None, shuffled=False)
    cases, _, options = make(tmp_path, made)
    predictions = write(tmp_path / "p.jsonl", [{"sql": QUERY.format(place)} for place in range(rows)])
    options = replace(options, limit=limit)
    if joined:
        inputs = read_inputs(cases, predictions, options, allow_unmatched=True)
        assert inputs.joining is not None
        assert (inputs.joining.by, inputs.joining.stated) == ("position", False)
        assert_own(inputs)
        return
    with pytest.raises(InputError, match=f"{rows} predictions for 3 questions: without ids, .* by position"):
        read_inputs(cases, predictions, options, allow_unmatched=True)


def test_questions_with_ids_take_rows_only_where_the_user_says_so(tmp_path: Path) -> None:
    cases, predictions, options = make(tmp_path, replace(BASE, prediction_id=None, shuffled=False))
    with pytest.raises(InputError, match=r'--prediction-id-column "@position"'):
        read_inputs(cases, predictions, options, allow_unmatched=False)
    stated = FileOptions(prediction_fields=FieldNames(id="@position"))
    inputs = read_inputs(cases, predictions, stated, allow_unmatched=False)
    assert inputs.joining is not None
    assert (inputs.joining.by, inputs.joining.stated) == ("position", True)
    assert_own(inputs)


def test_two_ids_of_which_each_file_takes_another_are_an_error(tmp_path: Path) -> None:
    rows = [(0, 2), (1, 0), (2, 1)]
    held = [{"id": row, "question_id": other, "question": f"q{row}", "gold": "x"} for row, other in rows]
    cases = write(tmp_path / "c.jsonl", held)
    predictions = write(tmp_path / "p.jsonl", [{"id": row, "sql": QUERY.format(row)} for row, _ in rows])
    with pytest.raises(InputError, match='the questions\' id is "question_id" and the predictions\' "id"'):
        read_inputs(cases, predictions, FileOptions(), allow_unmatched=False)
    named = FileOptions(case_fields=FieldNames(id="id"))
    assert_own(read_inputs(cases, predictions, named, allow_unmatched=False))


def test_keys_that_only_number_rows_are_not_ids_that_happen_to_fit(tmp_path: Path) -> None:
    cases = write(tmp_path / "c.jsonl", [{"id": id_, "question": f"q{id_}", "gold": "x"} for id_ in (7, 1, 9)])
    predictions = write(tmp_path / "p.json", [{"sql": QUERY.format(place)} for place in range(3)], keys=range(3))
    with pytest.raises(InputError, match="count their rows"):
        read_inputs(cases, predictions, FileOptions(), allow_unmatched=True)
    stated = FileOptions(prediction_fields=FieldNames(id="@position"))
    assert_own(read_inputs(cases, predictions, stated, allow_unmatched=False))


def test_positions_as_keys_are_the_keys_and_not_the_order_of_the_file(tmp_path: Path) -> None:
    cases, _, _ = make(tmp_path, BASE)
    order = [3, 0, 4, 1, 2]
    predictions = write(tmp_path / "p.json", [{"sql": QUERY.format(place)} for place in order], keys=order)
    stated = FileOptions(prediction_fields=FieldNames(id="@position"))
    assert_own(read_inputs(cases, predictions, stated, allow_unmatched=False))


def test_query_texts_in_memory_are_in_the_cases_order_and_as_many() -> None:
    cases = [Case(id=f"c{place}", question="?") for place in range(3)]
    inputs = read_inputs(cases, [QUERY.format(place) for place in range(3)], FileOptions(), allow_unmatched=False)
    assert_own(inputs)
    with pytest.raises(InputError, match="2 predictions for 3 questions: without ids"):
        read_inputs(cases, ["SELECT 1", "SELECT 2"], FileOptions(), allow_unmatched=False)


def test_a_key_and_an_id_that_differ_are_an_error(tmp_path: Path) -> None:
    cases, _, options = make(tmp_path, BASE)
    predictions = write(tmp_path / "p.json", [{"id": "b", "sql": "x"}], keys=["a"])
    with pytest.raises(InputError, match="the key is 'a' and \"id\" is 'b'"):
        read_inputs(cases, predictions, options, allow_unmatched=True)


@each("name", ["Ticket #", "Vorgang", "Ref.", "client code"])
@each("noise", [{}, {"run no": (5, 6, 7)}, {"model": ("x", "y", "z")}, {"Seq": (1, 2, 3)}])
@each("case_id", [None, "id"])
@each("order", [(0, 1, 2), (1, 0, 2), (1, 2)])
def test_a_column_of_ids_in_both_files_is_the_first_offer(
    tmp_path: Path, name: str, noise: dict[str, tuple[object, ...]], case_id: str | None, order: tuple[int, ...]
) -> None:
    ids = ("T-7", "T-9", "T-4")
    known = [{} if case_id is None else {case_id: 50 + place} for place in range(3)]
    held = [{**known[at], name: ids[at], "question": f"q{at}", "gold": "x"} for at in range(3)]
    rows = [
        {name: ids[at], "sql": QUERY.format(at), **{k: noise[k][row] for k in noise}} for row, at in enumerate(order)
    ]
    cases, predictions = write(tmp_path / "c.csv", held), write(tmp_path / "p.csv", rows)
    if case_id is None and order == (0, 1, 2):
        inputs = read_inputs(cases, predictions, FileOptions(), allow_unmatched=False)
        assert inputs.joining is not None
        assert (inputs.joining.by, inputs.joining.id_column) == ("position", name)
    else:
        with pytest.raises(InputError) as raised:
            read_inputs(cases, predictions, FileOptions(), allow_unmatched=False)
        assert f'Did you mean --id-column "{name}" (both files have its values)' in str(raised.value)
    named = FileOptions(case_fields=FieldNames(id=name))
    assert_own(read_inputs(cases, predictions, named, allow_unmatched=False))
