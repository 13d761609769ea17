"""Public functions name an argument of a wrong kind or name, and what to give; nothing ends in an inner error."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import assay
from assay.api.public import public
from assay.errors import AssayError
from assay.platform.surface import options
from assay.settings import declarations

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "evaluate": assay.evaluate,
    "lint": assay.lint,
    "check": assay.check,
    "diagnose": assay.diagnose,
    "compare": assay.compare,
    "assert_equivalent": assay.assert_equivalent,
    "diff": assay.diff,
    "leaderboard": assay.leaderboard,
    "estimate": assay.estimate,
    "judge_run": assay.judge_run,
    "judge_equivalence": assay.judge_equivalence,
    "load_run": assay.load_run,
    "list_runs": assay.list_runs,
}
CHECKED = ("files", "limits", "leniency", "overwrite", "rescore", "allow_unmatched", "extract", "seed", "resamples")
PAIRS = [
    (name, parameter)
    for name, function in FUNCTIONS.items()
    for parameter in inspect.signature(function).parameters
    if parameter in CHECKED
]
WRONG: dict[str, Any] = {"a dict": {"x": 1}, "an object": object(), "a frame": pandas.DataFrame({"x": [1]})}
FIRST: dict[str, tuple[Any, ...]] = {
    "evaluate": ([{"question": "q", "gold_sql": "SELECT 1"}], ["SELECT 1"]),
    "lint": ([{"question": "q", "gold_sql": "SELECT 1"}],),
    "estimate": ([{"question": "q"}], ["SELECT 1"]),
    "judge_equivalence": ([("SELECT 1", "SELECT 2")],),
    "leaderboard": (["runs/none"],),
}


def arguments_of(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    positional = FIRST.get(name)
    if positional is None:
        positional = tuple("SELECT 1" for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD)
    database = {one.name: "sqlite://" for one in parameters if one.name in ("database", "databases")}
    return positional, database


@pytest.mark.parametrize(("name", "parameter"), PAIRS)
@pytest.mark.parametrize("value", WRONG.values(), ids=list(WRONG))
def test_an_argument_of_a_wrong_kind_is_named(name: str, parameter: str, value: object) -> None:
    positional, keywords = arguments_of(name)
    with pytest.raises((AssayError, TypeError), match=parameter):
        FUNCTIONS[name](*positional, **{**keywords, parameter: value})


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrong", ["nonsense", "db"])
def test_an_argument_of_another_name_is_a_type_error(name: str, wrong: str) -> None:
    positional, keywords = arguments_of(name)
    with pytest.raises(TypeError, match=wrong) as raised:
        FUNCTIONS[name](*positional, **{**keywords, wrong: 1})
    if wrong == "db" and keywords:
        assert f"did you mean {next(iter(keywords))!r}" in str(raised.value)


@pytest.mark.parametrize("function", [assay.evaluate, assay.evaluate_selections])
@pytest.mark.parametrize(
    ("argument", "call"),
    [("gates", "run.check(Gates("), ("baseline", "run.check(Gates("), ("html", "run.report("), ("xlsx", "run.report(")],
)
def test_an_argument_that_belongs_to_the_run_names_its_method(
    function: Callable[..., Any], argument: str, call: str
) -> None:
    with pytest.raises(TypeError, match=argument) as raised:
        function([], [], **{argument: "x"})
    assert call in str(raised.value)
    assert "did you mean" not in str(raised.value)
    assert callable(getattr(assay.Run, call.partition("(")[0].removeprefix("run.")))


def test_a_database_file_may_be_a_path_and_a_connection_is_refused(make_sqlite: Callable[..., Path]) -> None:
    path = make_sqlite("CREATE TABLE t(a); INSERT INTO t VALUES (1);", "shop.sqlite")
    assert assay.check("SELECT a FROM t", "SELECT 1", database=path).outcome == "correct"  # type: ignore[arg-type]
    with pytest.raises(AssayError, match=r"database is of the type object.*sqlite:///shop.sqlite"):
        assay.check("SELECT 1", "SELECT 1", database=object())  # type: ignore[arg-type]


@pytest.mark.parametrize("output", ["out.html", "out.xlsx", "out.md", "out.json"])
def test_a_run_folder_is_not_called_like_a_report(output: str) -> None:
    with pytest.raises(AssayError, match=f"names the folder of a run: for a report write .*{output}"):
        assay.evaluate([{"question": "q", "gold_sql": "SELECT 1"}], ["SELECT 1"], databases="sqlite://", output=output)


def test_a_run_is_not_compared_with_itself_and_one_run_is_not_a_list(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="is not a run folder"):
        assay.diff(tmp_path, tmp_path)
    (tmp_path / "run.json").touch()
    for first, second in ((tmp_path, tmp_path), (str(tmp_path), tmp_path / ".")):
        with pytest.raises(AssayError, match="twice: this is one run"):
            assay.diff(first, second)
    with pytest.raises(AssayError, match="give a list of runs"):
        assay.leaderboard(str(tmp_path))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["db_path", "questions_path"])
def test_llmsql_takes_paths_and_no_urls(name: str) -> None:
    from assay.llmsql import evaluate

    with pytest.raises(AssayError, match=f"{name} is the URL 'sqlite:///tables.db': give the path .*'tables.db'"):
        evaluate([{"question_id": 1, "completion": "x"}], **{name: "sqlite:///tables.db"})  # type: ignore[arg-type]


def _of_files() -> list[tuple[tuple[str, ...], str]]:
    own = assay.FileOptions.__struct_fields__
    return [(names, one.option) for names, one in declarations() if one.option is not None and names[0] in own]


@pytest.mark.parametrize(("names", "option"), _of_files(), ids=lambda one: one if isinstance(one, str) else "")
def test_every_option_of_files_is_an_argument_that_can_be_copied(names: tuple[str, ...], option: str) -> None:
    written = public(lambda: options((option, 3 if names[-1] in ("limit", "header_row") else "x")))()
    read = eval(f"dict({written})", {"FileOptions": assay.FileOptions, "FieldNames": assay.FieldNames})["files"]
    for name in names:
        read = getattr(read, name)
    assert read in (3, "x")


_OF_THE_COMMAND_LINE = ("cli", "settings", "reports", "testing", "llmsql", "pytest_plugin", "platform")
"""Rooms whose texts are read on the command line, or in reports of a run that either surface may show."""
_KNOWN = {
    "engines/denodo/port.py": "options of assay denodo alone",
    "engines/denodo/config.py": "options of assay denodo alone",
    "engines/url_parts.py": "an option of Spark's",
    "engines/missing.py": "a worker's evidence",
    "metrics/suite.py": "a worker's evidence",
    "linting/rules/database/slow_gold.py": "a rule's remedy in a report",
    "runs/workers/witness_worker.py": "a worker's evidence",
    "runs/reviews/export.py": "a whole command",
    "runs/store/folder.py": "a whole command",
    "runs/backends/ray_cluster.py": "a command of Ray's",
    "runs/backends/ray_connection.py": "a command of Ray's",
    "systems/process/command.py": "an option of the user's command",
    "systems/chat/sql.py": "evidence",
    "systems/denodo.py": "evidence",
    "cases/joining/candidates.py": "asks which surface it is",
    "linting/page.py": "a page of the reference",
    "cases/sdmx/records.py": "asks which surface it is",
    "systems/http/refusals.py": "asks which surface it is",
    "cases/tools/inspect_logs.py": "a command of Inspect's",
    "api/inputs.py": "asks which surface it is",
    "api/part_workbooks.py": "options of assay denodo alone",
    "systems/chat/model.py": "asks which surface it is",
}
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def _texts_with_flags(path: Path) -> list[str]:
    """The messages in a module that write an option as the command line does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documentation)
    texts = [node.value for node in constants if isinstance(node.value, str)]
    return [text for text in texts if _FLAG.search(text) and " " in text.strip() and "in Python" not in text]


def test_messages_name_options_by_their_surface() -> None:
    source = Path(assay.__file__).parent
    found = {
        path.relative_to(source).as_posix(): texts
        for path in sorted(source.rglob("*.py"))
        if path.relative_to(source).parts[0] not in _OF_THE_COMMAND_LINE and (texts := _texts_with_flags(path))
    }
    assert {name: texts for name, texts in found.items() if name not in _KNOWN} == {}
    assert set(_KNOWN) <= set(found)


_PAIR = ([{"question": "q", "gold_sql": "SELECT 1"}], ["SELECT 1"])
_MISUSES: dict[str, Callable[[], object]] = {
    "baseline=": lambda: _run().check(assay.Gates(max_drop=(("match", 0.1),))),
    "Gates(max_drop=...)": lambda: _run().check(assay.Gates(minimum=(("match", 0.1),)), baseline=_run()),
    "witness=True": lambda: assay.evaluate(*_PAIR, databases="sqlite://", scratch="postgresql://h/d"),
    "suite": lambda: assay.evaluate(*_PAIR, databases="sqlite://", metrics=["suite_match"]),
    "open_system(...)": lambda: assay.evaluate(_PAIR[0], str, databases="sqlite://", repeats=3),
    "databases=": lambda: assay.estimate(*_PAIR[:1]),
    "output=": lambda: assay.estimate([{"question": "q", "predicted_sql": "SELECT 1"}], databases="sqlite://", more=3),
    "tokens_path='usage'": lambda: assay.open_system("http://h/ask", price_in=1.0, price_out=1.0),
    "price_out": lambda: assay.open_system("http://h/ask", price_in=1.0),
    "parameters=": lambda: assay.open_system("chat:http://h/v1"),
}


def _run() -> assay.Run:
    return assay.evaluate(*_PAIR, databases="sqlite://", metrics=["match"], workers=1)


@pytest.mark.parametrize("said", _MISUSES)
def test_what_is_wrong_in_python_is_answered_by_arguments(said: str) -> None:
    with pytest.raises((AssayError, UserWarning)) as raised:
        _MISUSES[said]()
    assert said in str(raised.value)
    assert "--" not in str(raised.value)
