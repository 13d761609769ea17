"""`assay init`: what it writes is what `assay run` reads, whatever the files are called and hold."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import demo
from assay.cases.text.yaml import plain_document
from assay.cli.app import run_command_line
from assay.cli.verbs.init.verb import _scalar
from assay.model import DatabaseUrl, FieldNames
from assay.settings import LintFileSettings, WitnessFileSettings, read_run_file


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample's files in a folder of their own below the present one."""
    folder = tmp_path / "of a shop"
    demo.build_database(folder)
    for source in (demo.cases_path(), demo.predictions_path()):
        (folder / source.name).write_bytes(source.read_bytes())
    monkeypatch.chdir(tmp_path)
    return Path("of a shop")


_DATABASE = "sqlite:///of a shop/shop.sqlite"


def _init(*arguments: str | Path) -> int:
    return run_command_line(["init", *map(str, arguments)])


@pytest.mark.parametrize("output", ["eval.yaml", "settings/deep/mine.yml", "of a shop/eval.yaml"])
def test_what_is_written_names_the_files_from_where_it_is(
    output: str, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = sample / "predictions.jsonl"
    assert _init(sample / "cases.jsonl", "-p", answers, "--db", _DATABASE, "-o", output) == 0
    written = read_run_file(Path(output))
    assert Path(written.cases or "").samefile(sample / "cases.jsonl")
    assert Path(written.predictions or "").samefile(answers)
    assert Path((written.db or "").removeprefix("sqlite:///")).samefile(sample / "shop.sqlite")
    assert written.metrics is not None
    assert written.metrics[0] == "match"
    said = capsys.readouterr()
    assert not said.err
    assert "36 cases in the format jsonl: id, question, gold from gold_sql" in said.out
    assert "answers to 34 of 36 cases, joined by id" in said.out
    assert "next:  assay run " in said.out.splitlines()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="no file has such a name there")
@pytest.mark.parametrize("name", ["a%41.sqlite", "a%2541.sqlite", "wh?t.sqlite", "a b&c=d#e.sqlite", "%.sqlite"])
def test_a_database_s_name_is_written_as_a_url_has_it(name: str, sample: Path) -> None:
    (sample / "shop.sqlite").rename(sample / name)
    url = DatabaseUrl(text="sqlite:///x").with_path((sample / name).as_posix())
    assert url.path == (sample / name).as_posix()
    assert _init(sample / "cases.jsonl", "--db", url.text, "-o", "settings/eval.yaml") == 0
    written = read_run_file(Path("settings/eval.yaml")).db or ""
    assert Path(DatabaseUrl.parse(written).path).samefile(sample / name)


def test_its_run_has_the_sample_s_verdicts(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in (sample / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    few = [line for line in lines if line["id"] in ("kq-01", "kq-02", "kq-03")]
    (sample / "few.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in few), encoding="utf-8")
    assert _init(sample / "cases.jsonl", "-p", sample / "few.jsonl", "--db", _DATABASE) == 0
    assert run_command_line(["run", "eval.yaml", "--limit", "3", "--workers", "1", "-q", "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["aggregates"]["correct"] == 2
    assert Path("runs/first/run.json").is_file()


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        ("--tag nightly --tag model=gpt", "tags", ("nightly", "model=gpt")),
        ("--metrics match,bird_ex", "metrics", ("match", "bird_ex")),
        ("--penalty 0 --penalty 10", "penalties", (0.0, 10.0)),
        ("--no-extract", "extract", False),
        ("--allow-unmatched", "allow_unmatched", True),
        ("--columns strict", "columns", "strict"),
        ("--timeout 2.5 --max-rows 7", "timeout_s", 2.5),
        ("--id-column id --prediction-id-column id", "case_fields", FieldNames(id="id")),
        ("--prediction-column predicted_sql", "prediction_fields", FieldNames(prediction="predicted_sql")),
        ("--witness-time 2s --witness", "witness", WitnessFileSettings(time=2.0)),
        ("--lint --lint-only limit-over-tie", "lint", LintFileSettings(only=("limit-over-tie",), with_run=True)),
        ("--min match=80% --must-pass tag:a", "gates", None),
        ("--cache kept --cache-size 5", "cache", "kept"),
        ("--run runs/other", "output", "runs/other"),
        ("--gold-db sqlite:///gold.sqlite", "gold_db", "sqlite:///gold.sqlite"),
    ],
)
def test_an_option_is_written_as_its_setting(typed: str, name: str, value: object, sample: Path) -> None:
    cases, answers = sample / "cases.jsonl", sample / "predictions.jsonl"
    assert _init(cases, "-p", answers, "--db", _DATABASE, *typed.split()) == 0
    written = read_run_file(Path("eval.yaml"))
    if name == "gates":
        assert written.gates is not None
        assert (written.gates.min, written.gates.must_pass) == ({"match": 0.8}, ("tag:a",))
    else:
        assert getattr(written, name) == value


def test_how_a_live_system_is_asked_is_written(sample: Path) -> None:
    body = '{"q": "{question}: #1, \'a\'"}'
    typed = ("--system", "http://127.0.0.1:9/ask", "--query-path", "data.0.sql", "--body", body, "--param", "a=b: c")
    more = ("--header", "X-Key=${KEY}", "--ask-timeout", "5", "--retries", "0", "--price-in", "2", "--price-out", "8")
    assert _init(sample / "cases.jsonl", "--db", _DATABASE, *typed, *more) == 0
    written = read_run_file(Path("eval.yaml"))
    assert (written.system, written.query_path, written.request_template) == (typed[1], "data.0.sql", body)
    assert (written.param, written.headers) == (("a=b: c",), ("X-Key=${KEY}",))
    assert (written.system_timeout_s, written.retries, written.price_in, written.price_out) == (5, 0, 2, 8)


def test_an_existing_file_stays(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("eval.yaml").write_text("mine", encoding="utf-8")
    arguments = (sample / "cases.jsonl", "--db", "sqlite:///x.sqlite")
    assert _init(*arguments) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert Path("eval.yaml").read_text(encoding="utf-8") == "mine"
    assert _init(*arguments, "--overwrite") == 0
    assert Path("eval.yaml").read_text(encoding="utf-8") != "mine"


def test_what_will_not_work_is_said_beforehand(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sample / "other.jsonl").write_text('{"id": "kq-01", "sql": "SELECT 1"}\n{"id": "zz", "sql": "SELECT 1"}\n')
    assert _init(sample / "cases.jsonl", "-p", sample / "other.jsonl", "--db", "sqlite:///shopp.sqlite") == 0
    said = capsys.readouterr().err
    assert "no SQLite database at 'shopp.sqlite'" in said
    assert "1 prediction matches no case, for example 'zz'" in said


def test_without_answers_it_says_where_to_name_them(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _init(sample / "cases.jsonl", "--db", f"sqlite:///{sample}/shop.sqlite") == 0
    assert "next:  name the answers in eval.yaml" in capsys.readouterr().out
    assert _init(sample / "cases.jsonl", "--db", "sqlite:///x", "--system", "chat:m", "-o", "live.yaml") == 0
    assert read_run_file(Path("live.yaml")).system == "chat:m"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cases.jsonl"], "--db must be given"),
        (["cases.jsonl", "--db", "shop.sqlite"], "is not a database URL: write  sqlite:///shop.sqlite"),
        (["cases.jsonl", "--db", "my data/a.DuckDB"], "write  duckdb:///my data/a.DuckDB"),
        (["cases.jsonl", "--db", "C:\\data\\shop.db"], "write  sqlite:///C:/data/shop.db"),
        (["cases.jsonl", "--db", "hush@shop.db"], "'***@shop.db' has no scheme: write  postgresql://***@shop.db"),
        (["cases.jsonl", "--db", "sqlite:///s", "-o", "eval.json"], "a name that ends in .yaml"),
        (["cases.jsonl", "--db", "sqlite:///s", "-p", "a", "--system", "b"], "were both given"),
        (["nowhere.jsonl", "--db", "sqlite:///s"], "nowhere.jsonl"),
        (["cases.jsonl", "--db", "nope://x"], "unknown engine 'nope'"),
        (["cases.jsonl", "--db", "sqlite:///s", "--system", "cat:m"], "unknown kind of system 'cat'"),
        (["run.yml", "--db", "sqlite:///s"], "this is a file of settings already: write  assay run run.yml"),
        ([str(demo.sdmx_path("cases.yaml")), "--db", "sqlite:///s"], "write  assay sdmx"),
    ],
)
def test_what_cannot_be_used_writes_nothing(
    arguments: list[str], said: str, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(sample)
    Path("run.yml").write_text("cases: cases.jsonl\ndb: sqlite:///shop.sqlite\n", encoding="utf-8")
    assert _init(*arguments) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().glob("*.yaml"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there")
@pytest.mark.parametrize(
    "given",
    [
        ["--db", "postgresql://u:hush-hush@127.0.0.1:1/x"],
        ["--db", "sqlite:///s", "--system", "http:http://u:hush-hush@h/x"],
        ["--db", "sqlite:///s", "--system", "http:http://h/x?api_key=hush-hush"],
        ["--db", "sqlite:///s", "--system", "http:http://h/x?key=hush-hush"],
        ["--db", "sqlite:///s", "--gold-db", "postgresql://h/x?password=hush-hush"],
        ["--db", "sqlite:///s", "--system", "command:./ask.sh --key hush-hush"],
        ["--db", "sqlite:///s", "--system", "command:API_KEY=hush-hush ./ask.sh"],
        ["--db", "sqlite:///s", "--system", "chat:m", "--header", "X-Gate=hush-hush"],
        ["--db", "sqlite:///s", "--system", "chat:m", "--header", "Authorization: Bearer hush-hush"],
        ["--db", "sqlite:///s", "--system", "chat:m", "--param", "model=m", "--param", "apiKey=hush-hush"],
        ["--db", "sqlite:///s", "--system", "http:http://h/x", "--request-template", '{"q": 1, "token": "hush-hush"}'],
        ["--db", "sqlite:///s", "--witness", "--scratch", "postgresql://u:hush-hush@h/x"],
    ],
    ids=lambda given: " ".join(given[2:] or given),
)
def test_a_password_is_for_its_owner_s_eyes(given: list[str], sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _init(sample / "cases.jsonl", *given) == 0
    assert stat.S_IMODE(Path("eval.yaml").stat().st_mode) == 0o600
    assert "out of version control" in Path("eval.yaml").read_text(encoding="utf-8")
    printed = capsys.readouterr()
    assert "hush-hush" not in printed.out + printed.err
    assert "assay: warning: eval.yaml contains a secret (" in printed.err


@pytest.mark.parametrize(
    "given",
    [
        ["--system", "chat:m", "--header", "X-Gate=${GATE}", "--header", "Authorization=Bearer ${TOKEN}"],
        ["--system", "chat:m", "--param", "model=m", "--param", "max_tokens=5"],
        ["--system", "command:./ask.sh --model m"],
        ["--system", "http:http://h/x?mode=fast", "--request-template", '{"ask": "{question}", "key": "{question}"}'],
        ["--user", "bob", "--tokens-path", "usage.tokens"],
    ],
    ids=" ".join,
)
def test_what_is_no_secret_is_not_told_as_one(
    given: list[str], sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _init(sample / "cases.jsonl", "--db", "sqlite:///s", *given) == 0
    assert "secret" not in capsys.readouterr().err.replace(sample.name, "").replace(str(Path.cwd()), "")
    assert "out of version control" not in Path("eval.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("value", ["hush-hush", None], ids=["set", "not set"])
def test_a_reference_to_the_environment_stays_one(
    value: str | None, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OF_THE_SHOP", raising=False)
    if value is not None:
        monkeypatch.setenv("OF_THE_SHOP", value)
    url = "postgresql://u:${OF_THE_SHOP}@127.0.0.1:1/x"
    assert _init(sample / "cases.jsonl", "--db", url) == 0
    text = Path("eval.yaml").read_text(encoding="utf-8")
    printed = capsys.readouterr()
    assert "hush-hush" not in text + printed.out + printed.err
    assert "out of version control" not in text
    assert read_run_file(Path("eval.yaml")).db == url


_ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_HARD = "a: #\0\t\n\r\x1b\x7f\x85\x9f\u2028\u2029\ufeff\ufffe\uffff\U0001f600"
_ODD = st.text(st.sampled_from(_HARD), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(text=_ANY | _ODD)
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    written = f"a: {_scalar(text)}\nb: [{_scalar(text, within=True)}]\n"
    assert plain_document(Path("x.yaml"), written)[0] == {"a": text, "b": [text]}
