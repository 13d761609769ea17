"""Values in a file are those that were put there, and a large file of lines is read as a small one."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.cases import join, load_predictions, load_questions
from assay.cases.tables.formats import JsonLinesFormat
from assay.cases.text import json as lines_of_json
from assay.errors import CaseFileError
from assay.model import Case, FieldNames
from assay.platform import spool as spool_module
from assay.platform.spool import Spool, parts_of, spooled
from assay.ports import LoadedCases, LoadedPredictions
from assay.runs.store.codec import encode_value
from assay.runs.store.writing import json_pieces
from many_cases import each

TEXTS = st.text(st.characters(codec=None), max_size=8) | st.just("\ud800")


@given(st.lists(st.builds(Case, id=TEXTS, question=TEXTS, golds=st.tuples(TEXTS)), max_size=12), st.integers(0, 12))
@settings(max_examples=30)
def test_values_in_a_file_are_those_that_were_put_there(cases: list[Case], place: int) -> None:
    held = Spool[Case](Case)
    for case in cases:
        held.append(case)
    assert list(held) == cases
    assert [held[at] for at in range(len(cases) - 1, -1, -1)] == cases[::-1]
    assert list(held[place:]) == cases[place:]
    assert held[:] is held
    assert [*held.lines(range(len(cases)))] == [held.line(at) for at in range(len(cases))]
    assert [one.question for one in parts_of(held, "id", "question")] == [case.question for case in cases]
    with pytest.raises(IndexError):
        held[len(cases)]


def test_a_file_is_used_beyond_a_number_of_values_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "LARGE", 3)
    monkeypatch.setattr(spool_module, "_BUFFER_BYTES", 40)
    monkeypatch.setattr(spool_module, "_AT_ONCE", 4)
    assert spooled(iter(["a", "b", "c"]), str) == ("a", "b", "c")
    texts = [f"text {number}" for number in range(23)]
    held = spooled(iter(texts), str)
    assert isinstance(held, Spool)
    assert list(held) == texts
    assert [held[at] for at in (22, 0, 11, 21)] == [texts[at] for at in (22, 0, 11, 21)]
    assert list(held[20:]) == texts[20:]
    for places in ([22, 0, 11, 21], [3, 1, 2, 1], [22], []):
        assert [*held.lines(places)] == [held.line(place) for place in places]


@given(order=st.permutations(range(20)), between=st.integers(0, 3000))
@settings(max_examples=30)
def test_values_in_any_order_in_a_file_are_read(
    order: list[int], between: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "lines"
    lines = [b"line %d " % number * (1 + number % 3) for number in range(20)]
    path.write_bytes(b"".join(lines[number] + b"-" * between for number in order))
    held = Spool[bytes](bytes, path=path)
    for number in range(20):
        earlier = order[: order.index(number)]
        held.note(sum(len(lines[other]) + between for other in earlier), len(lines[number]))
    assert list(held.lines(range(20))) == lines
    assert list(held.lines(order)) == [lines[number] for number in order]


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just('a "quoted" \\ text')


@given(st.lists(st.tuples(TEXTS, VALUES | st.dictionaries(TEXTS, VALUES, max_size=2)), max_size=4), st.booleans())
def test_a_line_that_is_read_faster_has_the_same_object(pairs: list[tuple[str, object]], escaped: bool) -> None:
    names = [json.dumps(name, ensure_ascii=escaped) for name, _ in pairs]
    items = [json.dumps(value, ensure_ascii=escaped) for _, value in pairs]
    line = "{" + ", ".join(f"{name}: {item}" for name, item in zip(names, items, strict=True)) + "}\n"
    found = lines_of_json._plain_object(line.encode("utf-8", "surrogatepass"))
    if len(dict(pairs)) < len(pairs):
        assert found is None
    elif found is not None:
        assert repr(found) == repr(json.loads(line))


def test_a_line_of_plain_values_is_read_faster() -> None:
    line = rb'{"id": "q1", "n": 1.5, "gold": "SELECT \"a\"\n", "none": null}'
    assert lines_of_json._plain_object(line) == json.loads(line)
    assert lines_of_json._plain_object(rb'{"gold": "SELECT \"a\"", "gold": "SELECT"}') is None


ROWS = [
    {"id": f"q{n}", "question": f"Wie viele?\u2028{n}", "gold_sql": f"SELECT {n} -- ü", "db_id": "ab"[n % 2]}
    for n in range(9)
]
ANSWERS = [
    {"id": f"q{n}", "predicted_sql": None if n == 3 else f"SELECT {n}", "latency_s": n / 7}
    for n in (2, 0, 1, 3, 5, 4, 6, 7)
]


def lines(rows: list[dict[str, object]], **more: object) -> bytes:
    return "".join(json.dumps(row | more, ensure_ascii=False) + "\n" for row in rows).encode()


FILES = {
    "as it comes": lines(ROWS),
    "blank lines and Windows": lines(ROWS).replace(b"\n", b"\r\n\r\n \r\n"),
    "no end": lines(ROWS).rstrip(),
    "a mark": b"\xef\xbb\xbf" + lines(ROWS),
    "UTF-16": lines(ROWS).decode().encode("utf-16"),
    "half a character": lines(ROWS).replace(b"-- ", b"\\ud800 ", 1),
    "a number beyond 64 bits": lines(ROWS, size=2**80),
    "difficulties in two spellings": lines(ROWS[:4], difficulty="Easy") + lines(ROWS[4:], difficulty="easy "),
    "texts beside objects": lines(ROWS) + b'"SELECT 1"\n',
    "a list": b"[1]\n" + lines(ROWS),
    "an id twice": lines([*ROWS, ROWS[2]]),
    "a key twice": lines(ROWS) + b'{"id": "x", "id": "y"}\n',
    "no JSON": lines(ROWS) + b"{\n",
    "cut": lines(ROWS)[:-20],
    "not UTF-8": lines(ROWS).replace("ü".encode(), b"\xfc", 1),
    "bad JSON before what is not UTF-8": b"{\n" + lines(ROWS).replace("ü".encode(), b"\xfc", 1),
    "a zero": lines(ROWS) + b"\0\n",
    "one document": json.dumps(ROWS, indent=1).encode(),
    "no question": lines([{"id": "a"}]),
    "blanks": b" \n\n",
    "columns that come late": lines(ROWS) + lines([{**ROWS[0], "id": "z", "context": "c", "tags": ["t"]}]),
}


def read(path: Path) -> LoadedCases | str:
    try:
        return load_questions(path, formats=[JsonLinesFormat()], fields=FieldNames())
    except CaseFileError as error:
        return str(error)


@each("content", FILES.values(), ids=list(FILES))
def test_a_large_file_of_lines_is_read_as_a_small_one(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    small = read(path)
    monkeypatch.setattr(lines_of_json, "_LARGE_BYTES", 0)
    monkeypatch.setattr(spool_module, "LARGE", 2)
    large = read(path)
    if isinstance(small, str) or isinstance(large, str):
        assert large == small
        return
    assert isinstance(large.cases, Spool)
    assert tuple(large.cases) == small.cases
    assert (large.columns, large.beside, large.by_position) == (small.columns, small.beside, small.by_position)


@pytest.mark.parametrize(
    "answers", [ANSWERS, ANSWERS[:3], [{"id": f"q{n}", "predicted_sql": "SELECT 1"} for n in range(9)]]
)
def test_a_large_file_of_answers_is_joined_as_a_small_one(
    answers: list[dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rows in (("cases", ROWS), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_bytes(
            lines(rows) + (lines([{**answers[0], "id": "no case"}]) if rows is answers else b"")
        )

    def joined() -> tuple[LoadedPredictions, object]:
        formats = [JsonLinesFormat()]
        questions = load_questions(tmp_path / "cases.jsonl", formats=formats)
        loaded = load_predictions(tmp_path / "answers.jsonl", formats=formats)
        found = join(questions, loaded)
        return loaded, (tuple(found.predictions), found.unmatched, found.joining)

    _, small = joined()
    monkeypatch.setattr(lines_of_json, "_LARGE_BYTES", 0)
    monkeypatch.setattr(spool_module, "LARGE", 2)
    loaded, large = joined()
    assert isinstance(loaded.predictions, Spool)
    assert large == small


def test_a_value_written_in_parts_is_the_value() -> None:
    plain = Case(id="a", question='lines\n  "in" it', golds=("SELECT\n1", ""), tags=())
    for value in (plain, (plain, plain), ()):
        assert b"".join(json_pieces(value)) == msgspec.json.format(encode_value(value), indent=2)
    odd = Case(id="b", question="\ud800", tags=("x", "y"))
    assert json.loads(b"".join(json_pieces(odd))) == json.loads(encode_value(odd))
