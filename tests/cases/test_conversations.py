"""Conversations: SParC's and CoSQL's files, turns within a record, and a record for each turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.api.inputs import FileOptions, read_inputs
from assay.cases import load_cases, load_predictions, recognise
from assay.cases.benchmarks.ehrsql import EhrsqlFormat
from assay.cases.benchmarks.sparc import CosqlFormat, SparcFormat
from assay.errors import CaseFileError, InputError
from assay.ports import CaseFormat

Write = Callable[..., Path]
TALKS = [
    {
        "database_id": "shop",
        "interaction": [
            {"utterance": "all", "query": "SELECT 1", "sql": {}},
            {"utterance": "fewer", "query": "SELECT 2", "sql": {}},
        ],
        "final": {"utterance": "fewer of all", "query": "SELECT 2"},
    },
    {"database_id": "bank", "interaction": [{"utterance": "count", "query": "SELECT 3"}], "final": {}},
]
WHOLE = [
    ("0-1", "all", "shop", "0", 1, ()),
    ("0-2", "fewer", "shop", "0", 2, ("all",)),
    ("1-1", "count", "bank", "1", 1, ()),
]


@pytest.fixture
def all_formats(formats: list[CaseFormat]) -> list[CaseFormat]:
    return [*formats, SparcFormat(), CosqlFormat(), EhrsqlFormat()]


def places(cases: Any) -> list[tuple[object, ...]]:
    return [
        (
            case.id,
            case.question,
            case.database,
            case.conversation,
            case.turn,
            tuple(one.question for one in case.history),
        )
        for case in cases
    ]


def test_conversations_as_they_come(all_formats: list[CaseFormat], write: Write) -> None:
    path = write("dev.json", json.dumps(TALKS))
    assert recognise(path, all_formats).name == "sparc"
    for name in (None, "cosql"):
        assert places(load_cases(path, formats=all_formats, format=name)) == WHOLE


@pytest.mark.parametrize("blank", ["\n", "\n\n \n"])
def test_lines_with_blank_lines_between_conversations(all_formats: list[CaseFormat], write: Write, blank: str) -> None:
    gold = write("gold.txt", f"SELECT 1\tshop\nSELECT 2\tshop\n{blank}SELECT 3\tbank\n\n")
    assert [
        (case.id, case.golds, case.database, case.turn)
        for case in load_cases(gold, formats=all_formats, format="sparc")
    ] == [
        ("0-1", ("SELECT 1",), "shop", 1),
        ("0-2", ("SELECT 2",), "shop", 2),
        ("1-1", ("SELECT 3",), "bank", 1),
    ]
    loaded = load_predictions(
        write("pred.txt", f"SELECT a\nSELECT b\n{blank}SELECT c\n"), formats=all_formats, format="sparc"
    )
    assert [(one.case_id, one.query) for one in loaded.predictions] == [
        ("0-1", "SELECT a"), ("0-2", "SELECT b"), ("1-1", "SELECT c")
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["SELECT a\nSELECT b\n\nSELECT c\n", "SELECT a\nSELECT b\nSELECT c\n"])
def test_lines_beside_conversations_are_joined_to_their_turns(write: Write, text: str) -> None:
    cases, lines = write("dev.json", json.dumps(TALKS)), write("pred.txt", text)
    found = read_inputs(cases, lines, FileOptions(), allow_unmatched=False)
    assert [one.query for one in found.predictions] == ["SELECT a", "SELECT b", "SELECT c"]


@pytest.mark.parametrize(
    "text", ["SELECT a\n\nSELECT b\n\nSELECT c\n", "SELECT a\nSELECT b\nSELECT c\n\nSELECT d\n", "SELECT a\n"]
)
def test_lines_that_do_not_fit_the_conversations_are_refused(write: Write, text: str) -> None:
    cases, lines = write("dev.json", json.dumps(TALKS)), write("pred.txt", text)
    with pytest.raises(InputError):
        read_inputs(cases, lines, FileOptions(), allow_unmatched=False)


def test_predictions_within_the_turns(all_formats: list[CaseFormat], write: Write) -> None:
    given = [
        {"interaction": [{"predicted_sql": "SELECT a"}, {"predicted_sql": "null"}]},
        {"interaction": [{"predicted_sql": "SELECT c"}]},
    ]
    loaded = load_predictions(write("pred.json", json.dumps(given)), formats=all_formats)
    assert [(one.case_id, one.given) for one in loaded.predictions] == [
        ("0-1", "answer"), ("0-2", "decline"), ("1-1", "answer")
    ]  # fmt: skip


def test_turns_within_a_record_and_a_record_for_each_turn_are_the_same(
    all_formats: list[CaseFormat], write: Write
) -> None:
    nested = {
        "id": "t",
        "db_id": "shop",
        "turns": [{"question": "all", "sql": "SELECT 1"}, {"question": "fewer", "sql": "SELECT 2"}],
    }
    rows = [
        {"id": "t-2", "db_id": "shop", "conversation": "t", "turn": 2, "question": "fewer", "sql": "SELECT 2"},
        {"id": "t-1", "db_id": "shop", "conversation": "t", "turn": 1, "question": "all", "sql": "SELECT 1"},
    ]
    first = load_cases(write("nested.jsonl", json.dumps(nested)), formats=all_formats)
    second = load_cases(write("rows.jsonl", "\n".join(map(json.dumps, rows))), formats=all_formats)
    assert places(first) == places(second[::-1]) == [
        ("t-1", "all", "shop", "t", 1, ()), ("t-2", "fewer", "shop", "t", 2, ("all",))
    ]  # fmt: skip


def test_without_numbers_the_rows_are_in_their_order(all_formats: list[CaseFormat], write: Write) -> None:
    table = "conversation,question,sql\na,one,SELECT 1\nb,other,SELECT 2\na,two,SELECT 3\n,alone,SELECT 4\n"
    cases = load_cases(write("dev.csv", table), formats=all_formats)
    assert [(case.conversation, case.turn, len(case.history)) for case in cases] == [
        ("a", 1, 0), ("b", 1, 0), ("a", 2, 1), (None, None, 0)
    ]  # fmt: skip


def test_what_an_agent_did_in_its_turns_is_no_conversation(all_formats: list[CaseFormat], write: Write) -> None:
    row = {"id": 1, "question": "q", "sql": "SELECT 1", "turns": [{"tool": "search"}, {"tool": "answer"}]}
    cases = load_cases(write("dev.jsonl", json.dumps(row)), formats=all_formats)
    assert [(case.id, case.conversation) for case in cases] == [("1", None)]
    loaded = load_predictions(write("p.jsonl", json.dumps(row)), formats=all_formats)
    assert [one.query for one in loaded.predictions] == ["SELECT 1"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"database_id": "d", "interaction": []}], "an empty list"),
        (
            [{"database_id": "d", "interaction": [{"utterance": "q", "query": "SELECT 1"}]}, {"interaction": "x"}],
            "item 2",
        ),
        ([{"database_id": "d", "interaction": ["q"]}], "item 1, turn 1"),
        ([{"database_id": "d", "interaction": [{"utterance": " ", "query": "SELECT 1"}]}], "item 1, turn 1"),
    ],
)
def test_turns_that_cannot_be_read_are_named_with_their_place(
    all_formats: list[CaseFormat], write: Write, content: object, said: str
) -> None:
    with pytest.raises(CaseFileError, match=said):
        load_cases(write("dev.json", json.dumps(content)), formats=all_formats, format="sparc")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 1), ("a", 1)], "has turn 1 twice"),
        ([("a", 1), ("a", None)], "the turn is blank"),
        ([("a", "first")], "expected a number"),
    ],
)
def test_turns_that_clash_are_refused(
    all_formats: list[CaseFormat], write: Write, rows: list[tuple[str, object]], said: str
) -> None:
    lines = [
        json.dumps({"id": number, "conversation": name, "turn": turn, "question": "q", "sql": "SELECT 1"})
        for number, (name, turn) in enumerate(rows)
    ]
    with pytest.raises(CaseFileError, match=said):
        load_cases(write("dev.jsonl", "\n".join(lines)), formats=all_formats)


def test_the_turns_of_a_conversation_share_a_database(all_formats: list[CaseFormat], write: Write) -> None:
    """Rows that name none, and other conversations, may differ."""
    rows = [("a", "shop"), ("b", "bank"), ("a", None), (None, "bank"), ("a", "shop")]
    lines = [
        {"id": number, "conversation": name, "question": "q", "sql": "SELECT 1", "db_id": database}
        for number, (name, database) in enumerate(rows)
    ]
    whole = load_cases(write("dev.jsonl", "\n".join(map(json.dumps, lines))), formats=all_formats)
    assert len(whole) == 5
    other = json.dumps({**lines[0], "id": 9, "db_id": "bank"})
    with pytest.raises(
        CaseFileError, match=r'line 6: the conversation "a" is on .*"bank" here, and on "shop" at line 1'
    ):
        load_cases(write("dev.jsonl", "\n".join([*map(json.dumps, lines), other])), formats=all_formats)
    turns = [{"question": "q", "sql": "SELECT 1", "db_id": name} for name in ("shop", "bank")]
    with pytest.raises(CaseFileError, match="turn 2"):
        load_cases(write("dev.jsonl", json.dumps({"id": "a", "turns": turns})), formats=all_formats)


def folder(tmp_path: Path, labels: dict[str, object]) -> Path:
    asked = {"version": "v", "data": [{"id": "a", "question": "how many?"}, {"id": "b", "question": "why?"}]}
    (tmp_path / "data.json").write_text(json.dumps(asked))
    (tmp_path / "label.json").write_text(json.dumps(labels))
    return tmp_path


def test_ehrsql_has_its_labels_beside_the_questions(all_formats: list[CaseFormat], tmp_path: Path) -> None:
    path = folder(tmp_path, {"b": "null", "a": "SELECT 1"})
    for one in (path, path / "data.json"):
        assert recognise(one, all_formats).name == "ehrsql"
        cases = load_cases(one, formats=all_formats)
        assert [(case.id, case.golds, case.expects) for case in cases] == [
            ("a", ("SELECT 1",), "answer"), ("b", (), "decline")
        ]  # fmt: skip
    (tmp_path / "prediction.json").write_text(json.dumps({"a": "null", "b": "null"}))
    loaded = load_predictions(path, formats=all_formats)
    assert [(one.case_id, one.given) for one in loaded.predictions] == [("a", "decline"), ("b", "decline")]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"a": "SELECT 1"}, 'the id "b" has no label'),
        ({"a": "SELECT 1", "b": "null", "c": "null"}, "have no question"),
        ({"a": "SELECT 1", "B": "null"}, 'did you mean "B"?'),
    ],
)
def test_ehrsql_labels_that_do_not_fit_are_named(
    all_formats: list[CaseFormat], tmp_path: Path, labels: dict[str, object], said: str
) -> None:
    with pytest.raises(CaseFileError) as caught:
        load_cases(folder(tmp_path, labels), formats=all_formats)
    assert said in str(caught.value)
