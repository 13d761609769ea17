"""A fault in a settings file is told with its line and column, what was expected, what was found, and what to write."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from assay.cli.app import app, run_command_line
from assay.errors import CaseFileError, UsageError
from assay.settings import Settings, declarations, is_run_file, read_run_file
from many_cases import each

HEAD = "# settings\ncases: dev.jsonl\ndb: sqlite:///shop.sqlite\n"
FAULTS = [
    ("limit: many", 4, 8, "limit is 'many' (a text), and a whole number is expected: write  limit: 100"),
    ("limit: 0", 4, 8, "limit is 0 (a whole number), and a whole number from 1 up is expected: write  limit: 100"),
    ("limit: 2.5", 4, 8, "limit is 2.5 (a number), and a whole number is expected: write  limit: 100"),
    ("limit: true", 4, 8, "limit is true, and a whole number is expected: write  limit: 100"),
    ("limit: [1]", 4, 8, "limit is a list, and a whole number is expected: write  limit: 100"),
    (
        "timeout_s: -1",
        4,
        12,
        "timeout_s is -1 (a whole number), and a time from 0.01 to 1,000,000 seconds (for example 30, 500ms",
    ),
    ("timeout_s: .nan", 4, 12, "timeout_s is nan (a number), and a time from 0.01 to 1,000,000 seconds"),
    ("timeout_s: .inf", 4, 12, "timeout_s is inf (a number), and a time from 0.01 to 1,000,000 seconds"),
    ("timeout_s: 30x", 4, 12, "2s, 10m or 1h) is expected: write  timeout_s: 30"),
    ("metrics: match", 4, 10, "metrics is 'match' (a text), and a list of texts is expected: write  metrics: [match"),
    ("metrics: [match, 5]", 4, 18, "metrics, entry 2 is 5 (a whole number), and a text is expected: write  metrics: ["),
    ("metrics:\n  - match\n  - {a: 1}", 6, 5, "metrics, entry 2 is a mapping, and a text is expected"),
    ("metric: [match]", 4, 1, "unknown setting 'metric' (did you mean 'metrics'?)"),
    ("zzz: 1", 4, 1, "unknown setting 'zzz'; known: cases, predictions"),
    ("columns: loose", 4, 10, "columns is 'loose' (a text), and any or strict is expected: write  columns: any"),
    ("allow_unmatched: yes", 4, 18, "is 'yes' (a text: YAML knows only true and false), and true or false is expected"),
    ("case_fields: id", 4, 14, "case_fields is 'id' (a text), and a mapping is expected: write  case_fields: {id"),
    ("case_fields:", 4, 1, "case_fields is nothing, and a mapping is expected: write  case_fields: {id"),
    ("case_fields: {gold: 5}", 4, 21, "case_fields, gold is 5 (a whole number), and a text is expected"),
    ("case_fields: {golds: a}", 4, 15, "unknown name in case_fields 'golds' (did you mean 'gold'?)"),
    ("gates: {minimum: {match: 0.8}}", 4, 9, "unknown gate 'minimum' (did you mean 'min'?)"),
    ("gates: {min: 0.8}", 4, 14, "gates, min is 0.8 (a number), and a mapping is expected: write  min: {match: 80%}"),
    ("gates:\n  min:\n    match: [1]", 6, 12, "gates, min, match is a list, and a number or a text is expected"),
    ("gates: {origin: here}", 4, 9, "unknown gate 'origin'"),
    ("lint: {fail_on: much}", 4, 17, "lint, fail_on is 'much' (a text), and error or warning or note is expected"),
    ("witness: 3", 4, 10, "witness is 3 (a whole number), and true or false or a mapping is expected"),
    ("min: {match: 0.8}", 4, 1, "unknown setting 'min': it belongs under gates: write  gates: {min: {match: 80%}}"),
    ("fail_on_regression: true", 4, 1, "it belongs under gates: write  gates: {fail_on_regression: true}"),
    ("with_run: true", 4, 1, "it belongs under lint: write  lint: {with_run: true}"),
    ("gates:\n  baseline: runs/a", 5, 3, "it is a setting of its own: write it without indentation, not under gates"),
    ("id_column: a", 4, 1, "it belongs under case_fields: write  case_fields: {id: …}"),
    ("prediction_column: a", 4, 1, "it belongs under prediction_fields: write  prediction_fields: {prediction: …}"),
    ("db_column: a", 4, 1, "it belongs under case_fields: write  case_fields: {database: …}"),
    ("gold: SQL", 4, 1, "it belongs under case_fields: write  case_fields: {gold: …}"),
    ("header_row: 1", 4, 1, "it belongs under case_fields: write  case_fields: {header_row: 0}"),
    ("witness_time: 2s", 4, 1, "it belongs under witness: write  witness: {time: 1s}"),
    ("timeout: 3", 4, 1, "(did you mean 'timeout_s'?)"),
    ("TIMEOUT_S: 3", 4, 1, "(did you mean 'timeout_s'?)"),
    ("max-memory: 64", 4, 1, "(did you mean 'max_memory_mib'?)"),
    ("ves_iterations: 3", 4, 1, "(did you mean 'timing_iterations'?)"),
    ("id_colum: a", 4, 1, "(did you mean 'id' under case_fields?)"),
    (
        "gates: {timeout: 3}",
        4,
        9,
        "it is a setting of its own, timeout_s: write it without indentation, not under gates",
    ),
    ("case_fields: {id_column: a}", 4, 15, "(did you mean 'id'?)"),
    ("token: secret", 4, 1, "a secret belongs in the environment: set ASSAY_TOKEN, or give --token"),
    ("gates: {match: 0.8}", 4, 9, "max_unscored: write  gates: {min: {match: 80%}}"),
    ("gold_db: gold.sqlite", 4, 10, "gold_db: 'gold.sqlite' is not a database URL: write  sqlite:///gold.sqlite"),
    ("predictions: a.jsonl\nsystem: command:x", 5, 1, "predictions and system are both named"),
    ("witness: {tim: 1s}", 4, 11, "unknown setting of witness 'tim' (did you mean 'time'?)"),
]


def _written(folder: Path, text: str) -> Path:
    path = folder / "eval.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@each(("line", "row", "column", "said"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_told_with_its_place(line: str, row: int, column: int, said: str, tmp_path: Path) -> None:
    path = _written(tmp_path, f"{HEAD}{line}\n")
    assert is_run_file(path)
    with pytest.raises(CaseFileError) as caught:
        read_run_file(path)
    assert str(caught.value).startswith(f"{path}, line {row}, column {column}: ")
    assert said in str(caught.value)


@each("cases", ["", "cases: 5\n", "cases:\n", "cass: dev.jsonl\n", "cases: true\n"])
def test_a_file_without_cases_is_settings(cases: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path, f"{cases}db: sqlite:///shop.sqlite\nmetrics: [match]\n")
    assert run_command_line(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert "cases" in said
    assert "write  cases: dev.jsonl" in said or "(did you mean 'cases'?)" in said


@pytest.mark.parametrize(("entry", "found"), [("dev.jsonl", "'dev.jsonl' (a text)"), ("5", "5 (a whole number)")])
def test_a_list_of_cases_holds_cases(entry: str, found: str, tmp_path: Path) -> None:
    path = _written(tmp_path, f"db: sqlite:///shop.sqlite\ncases: [{entry}]\n")
    with pytest.raises(CaseFileError) as caught:
        read_run_file(path)
    assert str(caught.value).startswith(f"{path}, line 2, column 9: cases, entry 1 is {found}, and a case, a mapping")


def test_a_question_set_in_yaml_is_none(tmp_path: Path) -> None:
    for text in (
        "- {id: 1, question: a, gold: b}",
        "cases:\n  - {id: 1}",
        "1: {question: a, db: b}",
        "db: x\ntags: [a]",
    ):
        assert not is_run_file(_written(tmp_path, text))


def test_what_an_anchor_brings_is_told_by_its_nearest_place(tmp_path: Path) -> None:
    path = _written(tmp_path, f"{HEAD}lint: &own {{fail_on: much}}\n<<: {{limit: many}}\n")
    with pytest.raises(CaseFileError, match=r"eval.yaml, line \d+, column \d+: "):
        read_run_file(path)


def test_every_example_can_be_read(tmp_path: Path) -> None:
    shown = 0
    for trail, setting in declarations():
        for example in filter(None, (setting.example, *setting.words)):
            name, section, inner = ".".join(trail), ".".join(trail[:-1]), trail[-1]
            line = f"{section}: {{{inner}: {example}}}" if section else f"{name}: {example}"
            head = "" if name in ("cases", "db") else HEAD
            rest = "" if head else "\n".join(one for one in HEAD.splitlines() if not one.startswith(f"{name}:"))
            read_run_file(_written(tmp_path, f"{head}{rest}\n{line}\n"))
            shown += 1
    assert shown > 60


@each("name", sorted(set(Settings.__struct_fields__) - {"cases"}))
def test_no_setting_takes_what_is_of_no_kind_of_its_own(name: str, tmp_path: Path) -> None:
    wrong = "[[1]]"  # a list in a list is right nowhere
    path = _written(tmp_path, f"{HEAD.replace('db:', '# db:') if name == 'db' else HEAD}{name}: {wrong}\n")
    with pytest.raises(CaseFileError, match=rf"eval.yaml, line 4, column \d+: {name}.* is expected: write  \w"):
        read_run_file(path)


@each(
    ("line", "row", "column", "said"),
    [
        ("metrics: [match, brid_ex]", 4, 18, "unknown metric 'brid_ex' (did you mean 'bird_ex'?)"),
        ("case_format: jsnol", 4, 14, "unknown case format 'jsnol' (did you mean 'jsonl'?)"),
        ("prediction_format: xslx", 4, 20, "unknown case format 'xslx' (did you mean 'xlsx'?)"),
        ("metrics: []", 4, 10, "metrics is empty: name at least one"),
        ("relative_tolerance: 2", 4, 21, "relative_tolerance is 2.0: give a number from 0 up, and below 1"),
        ("penalties: [-1]", 4, 12, "a penalty is -1.0"),
        ("backend: moon", 4, 10, "backend is 'moon': write local"),
        ("system: nosuch:x", 4, 9, "unknown kind of system 'nosuch'"),
        ("gates: {min: {match: ab}}", 4, 8, "gates, min, match: 'ab' is not a number: write 0.8 or 80%"),
        ("gates: {min: {brid: 0.5}}", 4, 8, "min brid: the run does not compute this metric"),
        ("lint: {only: [nosuch]}", 4, 14, "unknown rule 'nosuch'"),
        ("metrics: [match, match]", 4, 18, "the metric 'match' is named twice"),
        ("gates: {alpha: 2}", 4, 16, "alpha is 2.0: give a level between 0 and 1"),
        ("gates: {alpha: 0.1}", 4, 16, "gates, alpha is the level of fail_on_regression: add that"),
        ("gates: {fail_on_regression: true, alpha: 0}", 4, 42, "alpha is 0.0: give a level between 0 and 1"),
        ("gates: {must_pass: [id:1, smoke]}", 4, 27, "must-pass 'smoke'"),
        ("gates: {must_pass: [id:1, tag:x]}", 4, 27, "must-pass tag:x matches no case"),
        ("gates: {must_pass: tag:x}", 4, 20, "must-pass tag:x matches no case"),
        ("suite: nowhere", 4, 8, "{folder}/nowhere is not a folder: name a folder that  assay"),
        ("system: command:x\nheaders: [NOEQ]", 5, 11, "a header is ***: write NAME=VALUE"),
        ("system: command:x\nheaders: [A=1, a=2]", 5, 16, "the header a is given twice"),
        (
            'system: command:x\nheaders: ["A=${ASSAY_UNSET_NAME}"]',
            5,
            11,
            "the header A takes its value from the environment variable ASSAY_UNSET_NAME, which is not set",
        ),
        ("system: command:x\nheaders: {A: 1, a: x}", 5, 20, "the header a is given twice"),
        ("system: command:x\nheaders: {Connection: x}", 5, 23, "the header Connection is set by Assay itself"),
        (
            "system: command:x\nheaders: {A: [1]}",
            5,
            14,
            "headers, A is a list, and a text or a whole number is expected",
        ),
        ("system: command:x\nheaders: {'A:B': x}", 5, 10, "a header's name has a colon or an equals sign"),
        (
            'system: command:x\nheaders: {A: "${ASSAY_UNSET_NAME}"}',
            5,
            14,
            "the header A takes its value from the environment variable ASSAY_UNSET_NAME, which is not set",
        ),
        ("system: command:x\nparam: [NOEQ]", 5, 8, "--param *** is not a pair"),
        ("limit: 5\nlimit: 6", 5, 1, 'one mapping has the key "limit" more than once'),
        ("  limit: 5", 4, 8, "is not valid YAML: no name with a value can stand here"),
        ("\tlimit: 5", 4, 1, "is not valid YAML: a tab stands here: indent with blanks"),
        ("gates:\n\tmin: 5", 5, 1, "is not valid YAML: a tab stands here: indent with blanks"),
        ("limit:5\nname: a", 4, 1, "is not valid YAML: this is not a name with a value: write a colon and a space"),
        ("metrics: [match\nname: a", 4, 10, "is not valid YAML: this list has a fault, or no ] at its end"),
        ("gates: {min: {match: 1}", 4, 8, "is not valid YAML: this mapping has a fault, or no } at its end"),
        ('name: "a', 4, 7, "is not valid YAML: this quotation mark is never closed"),
        ("name: *a", 4, 7, "is not valid YAML: no anchor above has this name: put a text that begins with * in"),
        ("name: @a", 4, 7, "is not valid YAML: a text cannot begin with this character: put it in quotation marks"),
    ],
)
def test_a_name_that_nothing_has_is_told_with_its_place(
    line: str, row: int, column: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(tmp_path, f"{HEAD}{line}\n")
    case = '{"id": 1, "question": "a", "gold": "SELECT 1", "prediction": "SELECT 1"}\n'
    (tmp_path / "dev.jsonl").write_text(case, encoding="utf-8")
    sqlite3.connect(tmp_path / "shop.sqlite").close()
    assert run_command_line(["run", str(path)]) == 2
    said = said.format(folder=tmp_path) if "{folder}" in said else said
    assert capsys.readouterr().err.startswith(f"assay: error: {path}, line {row}, column {column}: {said}")


def test_a_flag_replaces_what_is_wrong_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path, f"{HEAD}backend: moon\nmetrics: [brid_ex]\n")
    assert run_command_line(["run", str(path), "--backend", "local", "--metrics", "match"]) == 2
    said = capsys.readouterr().err
    assert "dev.jsonl" in said  # which is not there
    assert "moon" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: dev.jsonl\n", "names no database: write  db: sqlite:///shop.sqlite, or add --db"),
        ("- {id: 1}\n", "contains no settings"),
        (None, "does not exist"),
    ],
    ids=["no database", "a list", "no file"],
)
def test_without_a_database_the_file_is_named(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "eval.yaml" if text is None else _written(tmp_path, text)
    assert run_command_line(["run", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"assay: error: {path}: {said}")


@each(
    "given",
    [
        {"timeout_s": math.inf},
        {"gold_timeout_s": math.nan},
        {"comparison_timeout_s": -math.inf},
        {"max_memory_mib": 10**20},
    ],
    ids=lambda given: next(iter(given)),
)
def test_no_limit_is_beyond_what_a_run_can_keep(given: dict[str, Any]) -> None:
    """Whether a flag, a file or Python says it: neither JSON nor an operating system has such a number."""
    with pytest.raises(UsageError, match=f"{next(iter(given)).removesuffix('_mib')}.* is .*: give "):
        Settings(**given).limits()


def test_every_setting_is_an_option_of_run_with_its_bound() -> None:
    """The file holds what the command line holds; only `assay lint` has rules of its own."""
    verbs = app.every_verb()
    options = {name: option for option in verbs["run"].params for name in option.opts}
    only_in_file = {"cases", "gates", "witness", "lint", "lint.fail_on", "lint.dialect"}
    assert {".".join(trail) for trail, setting in declarations() if setting.option is None} == only_in_file
    for _, setting in declarations():
        if setting.option is not None:
            option = options[setting.option.split("/")[0]]
            # A duration has a parser of its own, which checks its bounds.
            assert setting.is_duration or setting.least is None or option.type.min == setting.least
            assert set(setting.old) & set(option.opts) == {name for name in setting.old if name.startswith("--")}
    of_init = {name for option in verbs["init"].params for name in option.opts}
    assert {setting.option.split("/")[0] for _, setting in declarations() if setting.option is not None} <= of_init
    names = [name for _, setting in declarations() for name in (*setting.names, *setting.old)]
    assert len(names) == len(set(names)), "two settings share a name"


@each(
    ("text", "name", "value"),
    [
        ("ask_timeout: 5", "system_timeout_s", 5),
        ("ask_timeout_s: 5", "system_timeout_s", 5),
        ("body: '{}'", "request_template", "{}"),
        ("params: {model: m}", "param", {"model": "m"}),
    ],
)
def test_an_earlier_name_works(text: str, name: str, value: Any, tmp_path: Path) -> None:
    assert getattr(read_run_file(_written(tmp_path, f"{HEAD}{text}\n")), name) == value


@each("value", ["false", "true", "5", "2.5", "null", "a text", "[1, x]", "{a: {b: [false]}}"])
@each("name", ["param", "request_template"])
def test_a_request_holds_any_value(name: str, value: str, tmp_path: Path) -> None:
    content = read_run_file(_written(tmp_path, f"{HEAD}{name}: {{x: {value}}}\n"))
    assert getattr(content, name) == YAML(typ="safe").load(f"{{x: {value}}}")


@each("name", ["price_in", "tolerance", "retries", "limit"])
def test_a_bound_speaks_of_the_numbers_that_the_setting_takes(name: str, tmp_path: Path) -> None:
    kinds = {"retries": "a whole number", "limit": "a whole number", "system_timeout_s": "a time"}
    kind = kinds.get(name, "a number")
    with pytest.raises(CaseFileError, match=f"and {kind} from"):
        read_run_file(_written(tmp_path, f"{HEAD}{name}: -1\n"))


def test_a_fault_under_an_earlier_name_is_told_by_that_name(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match=r"line 4, column 14: ask_timeout is 'x'.*write  ask_timeout: 120"):
        read_run_file(_written(tmp_path, f"{HEAD}ask_timeout: x\n"))
    with pytest.raises(CaseFileError, match="line 4, column 1: ask_timeout and system_timeout_s are one setting"):
        read_run_file(_written(tmp_path, f"{HEAD}ask_timeout: 1\nsystem_timeout_s: 2\n"))


@pytest.mark.parametrize("headers", ["{X-Key: '${KEY}', X-Version: 2}", "['X-Key=${KEY}', 'X-Version=2']"])
def test_headers_are_a_mapping_or_a_list(headers: str, tmp_path: Path) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text(f"{HEAD}headers: {headers}\n", encoding="utf-8")
    assert list(read_run_file(path).header_texts().values()) == ["X-Key=${KEY}", "X-Version=2"]
