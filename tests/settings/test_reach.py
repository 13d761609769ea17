"""A setting refuses the same values on the command line, in a file and from Python: what is out of reach, what is no
path, and what would have no effect; durations take the same forms everywhere."""

from __future__ import annotations

import sqlite3
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import pytest

import assay
from assay.api.inputs import FileOptions
from assay.cases.fields import Field, option_of
from assay.cli.app import app, run_command_line
from assay.errors import CaseFileError, UsageError
from assay.settings import Settings, declarations, read_run_file
from assay.settings.columns import CASE_COLUMNS, PREDICTION_COLUMNS
from assay.settings.setting import DURATION, Setting, fields_of
from assay.systems.options import SystemOptions
from many_cases import each

TOP = [(names[0], setting) for names, setting in declarations() if len(names) == 1]
BOUNDED = [(name, setting) for name, setting in TOP if setting.most is not None]
PATHS = [(name, setting) for name, setting in TOP if setting.is_path]
NO_PATHS = ['""', '"  "', '"a\\0b"', '"\\ud800"']


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.jsonl").write_text('{"id": 1, "question": "?", "gold": "SELECT 1", "prediction": "SELECT 1"}\n')
    with sqlite3.connect(tmp_path / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    return tmp_path


def settings_file(folder: Path, line: str) -> Path:
    path = folder / "eval.yaml"
    path.write_text(f"cases: dev.jsonl\ndb: sqlite:///shop.sqlite\n{line}\n")
    return path


def test_some_settings_are_bounded_and_some_are_paths() -> None:
    assert {"repeat", "workers", "system_timeout_s", "max_memory_mib"} <= dict(BOUNDED).keys()
    assert {"output", "cache", "suite", "predictions"} <= dict(PATHS).keys()


@pytest.mark.parametrize(("name", "setting"), BOUNDED, ids=[name for name, _ in BOUNDED])
def test_numbers_beyond_reach_are_refused(
    name: str, setting: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (int(setting.most) + 1, 10**23):
        with pytest.raises(CaseFileError, match=f"line 3, column .*: {name} is {number}.* is expected"):
            read_run_file(settings_file(folder, f"{name}: {number}"))
        assert run_command_line(["run", "dev.jsonl", "--db", "sqlite:///shop.sqlite", setting.option, str(number)]) == 2
        assert setting.option in capsys.readouterr().err
    settings = read_run_file(settings_file(folder, f"{name}: {int(setting.most)}"))
    assert getattr(settings, name) == setting.most


@pytest.mark.parametrize(("name", "setting"), PATHS, ids=[name for name, _ in PATHS])
def test_texts_that_are_no_path_fail(name: str, setting: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in NO_PATHS:
        with pytest.raises(CaseFileError, match=f"line 3, column .*: {name} (is empty|contains)"):
            read_run_file(settings_file(folder, f"{name}: {text}"))
    for text in ("", "  "):
        given = ["run", "dev.jsonl", "--db", "sqlite:///shop.sqlite", setting.option, text]
        if name != "baseline":
            assert run_command_line(given) == 2
            assert f"{setting.option} is empty" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["dev.jsonl", "eval.yaml", "shop.sqlite"]


STRANGE: list[Any] = [1.5, float("nan"), "3", True, -1, [1], "\0", " "]
BY_PYTHON = {
    "columns": "any",
    "timing_iterations": 3,
    "timing_budget_s": 1.0,
    "concurrency": 1,
    "workers": 1,
    "cache": "cache",
    "output": "run",
    "name": "a",
    "allow_unmatched": True,
    "extract": False,
}
"""Arguments of `assay.evaluate` that are settings of the same name, with a value that each can have."""


@pytest.mark.parametrize("name", BY_PYTHON)
def test_evaluate_refuses_what_no_run_can_keep(name: str, folder: Path) -> None:
    """What it accepts can be read again: a run with a number as its name could be stored, and never be loaded."""
    field = fields_of(Settings)[name]
    refused = 0
    for value in [*STRANGE, BY_PYTHON[name]]:
        output = {"output": "kept"} if name != "output" else {}
        arguments: dict[str, Any] = {"workers": 1, **output, "overwrite": True, name: value}
        said = None
        try:
            assay.evaluate("dev.jsonl", databases="sqlite:///shop.sqlite", metrics=["match"], **arguments)
        except UsageError as error:
            said = str(error)
        if said is not None:
            assert name in said
            refused += 1
        else:
            assert assay.load_run(arguments["output"]).settings.metrics == ("match",)
            assert any(isinstance(value, kind if kind is not float else (int, float)) for kind in field.kinds)
    assert refused >= 3


@pytest.mark.parametrize("name", ["concurrency", "repeats", "output", "name", "limit", "allow_unmatched"])
def test_an_evaluation_of_selections_refuses_the_same(name: str, folder: Path) -> None:
    """Before any file is looked for: the cases named here are not there."""
    for value in (object(), [1]):
        with pytest.raises(UsageError, match=name):
            assay.evaluate_selections("missing.yaml", "missing.yaml", **{name: value})


def test_every_setting_leads_to_what_uses_it() -> None:
    """A field alone is an option that does nothing: `evaluate` takes it, or what it is handed."""
    taken = {
        *signature(assay.evaluate).parameters,
        *FileOptions.__struct_fields__,
        *assay.Limits.__struct_fields__,
        *assay.Leniency.__struct_fields__,
        *SystemOptions.__struct_fields__,
    }
    made_by_verbs = {
        *("db", "gold_db", "denodo_config", "baseline", "gates", "max_memory_mib", "cache_size_mib"),
        *("system", "repeat", "param", "system_timeout_s", "request_template", "no_reviews", "settle"),
    }
    assert fields_of(Settings).keys() - taken == made_by_verbs


LIMITS = ["timeout_s", "gold_timeout_s", "comparison_timeout_s", "max_rows", "max_memory_bytes"]


@pytest.mark.parametrize("name", LIMITS)
def test_evaluate_refuses_limits_under_which_nothing_runs(name: str, folder: Path) -> None:
    for value in (0, -1, "5", float("nan")):
        with pytest.raises(UsageError, match=name):
            assay.evaluate("dev.jsonl", databases="sqlite:///shop.sqlite", limits=assay.Limits(**{name: value}))


@pytest.mark.parametrize(
    ("yaml", "pairs"),
    [
        ('{s: "5", b: "false", n: "null", l: "[1]", q: "\\"x\\""}', ['"5"', '"false"', '"null"', '"[1]"', '"\\"x\\""']),
        ("{s: 5, b: false, n: null, l: [1], t: plain}", ["5", "false", "null", "[1]", "plain"]),
        ('["s=5", "b=\\"5\\""]', ["5", '"5"']),
    ],
)
def test_a_text_of_a_file_stays_a_text_in_the_request(yaml: str, pairs: list[str], folder: Path) -> None:
    settings = read_run_file(settings_file(folder, f"param: {yaml}"))
    assert [value for _, value in settings.parameters()] == pairs


@pytest.mark.parametrize("yaml", ["{a: .nan}", "{a: [.inf]}", "[a=1, a=2]", '{"": x}', '["=1"]', "[model]"])
def test_a_parameter_that_cannot_be_sent_is_refused(yaml: str, folder: Path) -> None:
    settings = read_run_file(settings_file(folder, f"param: {yaml}"))
    with pytest.raises(UsageError):
        settings.parameters()


LIVE = {
    "concurrency": "2", "param": "[a=1]", "headers": "[X=1]", "system_timeout_s": "5", "retries": "1",
    "verify_ssl": "false", "prompt": "ddl", "query_tool": "t", "request_template": '{q: "{question}"}',
    "query_path": "a", "tokens_path": "a", "times_path": "a", "decision_path": "a", "confidence_path": "a",
    "context_path": "a",
    "price_in": "1", "price_out": "1",
}  # fmt: skip


def test_settings_of_live_systems_are_refused_without_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert LIVE.keys() == {
        name for name, setting in TOP if setting.group == "Live systems" and name not in ("system", "user", "repeat")
    }
    for name, value in LIVE.items():
        assert run_command_line(["run", str(settings_file(folder, f"{name}: {value}"))]) == 2
        said = capsys.readouterr().err
        assert "eval.yaml, line 3, column" in said
        assert "is for a live system" in said
    assert run_command_line(["run", str(settings_file(folder, "cache_size_mib: 5"))]) == 2
    assert "--cache-size needs --cache" in capsys.readouterr().err


def test_a_gate_of_lint_fails_without_the_database(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["lint", "dev.jsonl", "--db", "sqlite:///nosuch.sqlite"]
    assert run_command_line(command) == 0
    assert run_command_line([*command, "--fail-on", "note"]) == 2
    assert "--fail-on note is not decided, since the database of case " in capsys.readouterr().err
    for option in ("--only", "--ignore"):
        assert run_command_line(["lint", "dev.jsonl", "--db", "sqlite:///shop.sqlite", option, ","]) == 2
        assert f"{option} names no rule" in capsys.readouterr().err
    assert run_command_line(["lint", "dev.jsonl", "--db", "sqlite:///shop.sqlite", "--fail-on", "note"]) == 0


DURATIONS = {trail: setting for trail, setting in declarations() if setting.is_duration}
OTHERS = {"--timeout": ("doctor",), "--idle": ("view", "RUN"), "--seconds": ("refute", "SELECT 1", "SELECT 2")}
"""Options that are no settings of a run, each with a verb that has it."""
READ = {"2": 2.0, ".5": 0.5, "1e2": 100.0, "500ms": 0.5, "2s": 2.0, "2 m": 120.0, "3min": 180.0, "1h": 3600.0}
UNREAD = ("2x", "-1s", "-1", "", "nan", "inf", "1e400s", "1 2s", "1h30m", "\u0663s", "s", "1S", "true")


def _read(folder: Path, trail: tuple[str, ...], text: str) -> Any:
    value: object = f"'{text}'"
    for name in reversed(trail):
        value = f"{{{name}: {value}}}"
    path = folder / "eval.yaml"
    path.write_text("cases: c.jsonl\ndb: sqlite:///x.sqlite\n" + str(value)[1:-1] + "\n", encoding="utf-8")
    found: Any = read_run_file(path)
    for name in trail:
        found = getattr(found, name)
    return found


def test_every_setting_in_seconds_is_a_duration() -> None:
    assert {trail for trail, _ in declarations() if trail[-1].endswith("_s")} <= DURATIONS.keys()


def _options(command: Any) -> list[Any]:
    inner = command.every_verb() if hasattr(command, "every_verb") else {}
    return [one for name in inner for one in _options(inner[name])] if inner else list(command.params)


def test_no_option_takes_seconds_in_another_form() -> None:
    options = _options(app)
    assert not [one.opts for one in options if one.metavar in ("S", "SECONDS")]
    assert {name for one in options if one.metavar == DURATION for name in one.opts} >= {
        *OTHERS,
        *(setting.option for setting in DURATIONS.values()),
    }


@each("trail", list(DURATIONS), ids=".".join)
def test_a_duration_is_read_from_a_file(trail: tuple[str, ...], tmp_path: Path) -> None:
    assert {text: _read(tmp_path, trail, text) for text in READ} == READ
    for text in UNREAD:
        with pytest.raises(
            CaseFileError, match=rf"{trail[-1]} is .*, and a time from .* 500ms, 2s, 10m or 1h\) is expec"
        ):
            _read(tmp_path, trail, text)


@each("option", [*(setting.option for setting in DURATIONS.values()), *OTHERS])
def test_a_bad_duration_has_one_message_on_the_command_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for text in UNREAD:
        assert run_command_line([*OTHERS.get(option, ("run", "c.jsonl")), f"{option}={text}"]) == 2
        printed = capsys.readouterr().err
        assert printed.startswith(f"assay: error: {option} is {text!r}: write a time from ")
        assert "seconds (for example 30, 500ms, 2s, 10m or 1h): see  assay " in printed


def test_a_duration_is_a_number_within_its_bounds() -> None:
    setting = Setting("--t", "", "", DURATION, least=0.5, most=60)
    numbers = {0.5: 0.5, 60: 60.0, 0.4: None, 61: None, "2m": None, True: None, None: None}
    assert {given: setting.seconds(given) for given in numbers} == numbers


@pytest.mark.parametrize("field", sorted(set(get_args(Field)) & {*CASE_COLUMNS, *PREDICTION_COLUMNS}))
def test_the_option_of_a_field_is_the_declared_one(field: Field) -> None:
    declared = {columns[field].option for columns in (CASE_COLUMNS, PREDICTION_COLUMNS) if field in columns}
    assert option_of(field) in declared
