"""What a person types by mistake: status 2, one message with what is wrong and what to write, nothing written."""

from __future__ import annotations

import io
import json
import random
import shlex
import shutil
import sys
import time
from contextlib import chdir
from pathlib import Path

import pytest
from processes import json_lines, sqlite_file

import assay
from assay.cli.app import app, run_command_line
from assay.cli.parsing.mistakes import OTHER_VERBS
from assay.demo import sdmx_path
from many_cases import each

QUESTIONS = [
    {"id": "a", "question": "how many?", "gold_sql": "SELECT count(*) FROM t", "db_id": "shop"},
    {"id": "b", "question": "which?", "gold_sql": "SELECT a FROM t", "db_id": "shop"},
]
PREDICTIONS = [{"id": "a", "predicted_sql": "SELECT count(*) FROM t"}, {"id": "b", "predicted_sql": "SELECT b FROM t"}]
RUN = "run questions.jsonl -p predictions.jsonl --db sqlite:///shop.sqlite"
LIVE = "run questions.jsonl --system chat:gpt-4.1 --db sqlite:///shop.sqlite"
EXAMPLE = "assay run questions.jsonl --predictions predictions.jsonl --db sqlite:///shop.sqlite"
SDMX = "sdmx sdmx-cases.yaml -p sdmx-predictions.jsonl"
DATA = "DATAFLOW,INDICATOR,COUNTRY,FREQUENCY,TIME_PERIOD,OBS_VALUE\nIMF.RES:WEO(1.0.0),LP,MEX,A,2020,1\n"
KEY = "OPENAI_API_KEY"
DB = "--db sqlite:///shop.sqlite"
FILES = "run questions.jsonl -p predictions.jsonl"
CHECK = "check 'SELECT 1' 'SELECT 1'"
PAIR = "refute 'SELECT a FROM t' 'SELECT b FROM t'"
REFUTE = "refute 'SELECT a FROM t' --db sqlite:///shop.sqlite"

MISTAKES: list[tuple[str, list[str]]] = [
    # Verbs of other tools, and misspelt ones.
    ("evaluate questions.jsonl predictions.jsonl", ["'evaluate'", "'run'", EXAMPLE]),
    ("eval questions.jsonl", ["'eval'", "'run'", EXAMPLE]),
    ("Evaluate", ["'Evaluate'", "'run'", EXAMPLE]),
    ("evalute x", ["'evalute'", "'run'", EXAMPLE]),
    ("score", ["'run'", EXAMPLE]),
    ("benchmark", ["'run'", EXAMPLE]),
    ("test", ["'run'", f"{EXAMPLE} --min match=80%"]),
    ("predict", ["'run'", "--system chat:gpt-4.1"]),
    ("rescore runs/a", ["'run'", "-o runs/first --rescore"]),
    ("compare runs/a runs/b", ["'diff'", "assay diff runs/main runs/new"]),
    ("validate questions.jsonl", ["'lint'", "assay lint questions.jsonl"]),
    ("metrics", ["'docs'", "assay docs metrics"]),
    ("rank runs", ["'leaderboard'", "assay leaderboard runs/one runs/two"]),
    ("list", ["'runs'", "assay runs runs"]),
    ("show runs/a", ["'view'", "assay view runs/first"]),
    ("export runs/a", ["'report'", "assay report runs/first --html report.html"]),
    ("prove", ["'refute'", "assay refute"]),
    ("version", ["write  assay --version"]),
    ("help run", ["write  assay --help"]),
    ("RUN questions.jsonl", ["'RUN'", "did you mean 'run'?"]),
    # A word too many.
    ("run questions.jsonl predictions.jsonl", ["'predictions.jsonl'", EXAMPLE]),
    ("init questions.jsonl predictions.jsonl", ["assay init questions.jsonl --predictions predictions.jsonl"]),
    ("run questions.jsonl sqlite:///shop.sqlite", ["write  --db sqlite:///shop.sqlite"]),
    ("run questions.jsonl postgresql://me:hush@h/x", ["write  --db postgresql://***@h/x"]),
    ("report runs/a runs/b", ["assay diff runs/a runs/b"]),
    ("denodo questions.xlsx", ["assay denodo --input questions.xlsx"]),
    # Options under another name.
    ("run questions.jsonl --gold x", ["no option --gold ", "write it first, without an option"]),
    ("run questions.jsonl --prediction x", ["did you mean --predictions?"]),
    ("run questions.jsonl --database x", ["did you mean --db?"]),
    ("run questions.jsonl --out x", ["did you mean --output?"]),
    ("run questions.jsonl --output_dir x", ["did you mean --output?"]),
    ("run questions.jsonl --gold_column x", ["did you mean --gold-column?"]),
    ("run questions.jsonl --model x", ["did you mean --system chat:MODEL?"]),
    ("run questions.jsonl --threshold 0.8", ["did you mean --min match=80%?"]),
    ("run questions.jsonl --metric match", ["did you mean --metrics?"]),
    ("run questions.jsonl --dataset x", ["by position"]),
    ("run questions.jsonl --resume", ["the same command resumes"]),
    ("run questions.jsonl -db x", ["no option -db", "did you mean --db?"]),
    ("run questions.jsonl -pred x", ["no option -pred", "did you mean --predictions?"]),
    ("check 'SELECT 1' 'SELECT 1' --database x", ["did you mean --db?"]),
    ("lint questions.jsonl --jobs 3", ["did you mean --workers?"]),
    ("diff runs/a runs/b --cases 3", ["did you mean --max-cases?"]),
    # The two files and the database of a run.
    (
        "run predictions.jsonl -p questions.jsonl --db sqlite:///shop.sqlite",
        ["swapped", "'predicted_sql'", "'gold_sql'", "assay run questions.jsonl --predictions predictions.jsonl"],
    ),
    ("run predictions.jsonl -p questions.jsonl", ["swapped"]),
    ("run predictions.jsonl --db sqlite:///shop.sqlite", ["predictions.jsonl contains predictions", "no gold queries"]),
    ("lint predictions.jsonl", ["predictions.jsonl contains predictions", "no gold queries"]),
    ("run questions.jsonl -p predictions.jsonl", ["--db must be given", "'sqlite:///{db_id}.sqlite'", "postgresql://"]),
    ("check 'SELECT 1' 'SELECT 1'", ["--db must be given", "sqlite:///shop.sqlite"]),
    ("run question.jsonl -p predictions.jsonl", ["question.jsonl", "does not exist", "questions.jsonl"]),
    # Files of reports.
    (f"{RUN} --html runs", ["--html runs", "folder", "--html runs/report.html"]),
    (f"{RUN} --html report.xlsx", ["--html report.xlsx", ".xlsx", "--html report.html", "--xlsx report.xlsx"]),
    (f"{RUN} --json report.html", ["--json report.html", "--json report.json", "--html report.html"]),
    (f"{RUN} --json=questions.jsonl", ["--json questions.jsonl", ".jsonl"]),
    (f"{RUN} --xlsx report.xls", ["--xlsx report.xls", "--xlsx report.xlsx"]),
    (f"{RUN} --md questions.jsonl/a.md", ["questions.jsonl is a file"]),
    (f"{RUN} --md - --json -", ["--md - and --json -", "standard output"]),
    (f"{RUN} --junit a.xml --report junit-too=a.xml", ["junit-too"]),
    ("report runs/a --html runs", ["--html runs", "folder"]),
    ("diff runs/a runs/b --md x.html", ["--md x.html", "--md x.md", "--html x.html"]),
    ("leaderboard runs/a runs/b --latex x.csv", ["--latex x.csv", "--latex x.tex"]),
    ("lint questions.jsonl --sarif x.html", ["--sarif x.html", "--sarif x.sarif"]),
    ("runs runs --html x.json", ["--html x.json", "--json x.json"]),
    # Metrics under another name.
    (f"{RUN} --min accuracy=80%", ["accuracy", "did you mean 'match'?"]),
    (f"{RUN} --min EX=80%", ["EX", "did you mean 'spider_ex' or 'bird_ex'?"]),
    (f"{RUN} --min exact_match=80%", ["exact_match", "did you mean 'spider_em'?"]),
    (f"{RUN} --min mtach=80%", ["mtach", "did you mean 'match'?"]),
    (f"{RUN} --metrics accuracy", ["'accuracy'", "did you mean 'match'?"]),
    ("diff runs/a runs/b --max-drop f1=1%", ["f1", "did you mean 'bird_soft_f1'?"]),
    ("leaderboard runs/a runs/b --metric acc", ["'acc'", "did you mean 'match'?"]),
    ("runs runs --metric accuracy", ["'accuracy'", "did you mean 'match'?"]),
    # The files of an SDMX assistant.
    (
        "sdmx sdmx-predictions.jsonl -p sdmx-cases.yaml",
        ["swapped", "assay sdmx sdmx-cases.yaml --predictions sdmx-predictions.jsonl"],
    ),
    ("sdmx sdmx-predictions.jsonl -p sdmx-predictions.jsonl", ["contains answers, not cases", "CASES --predictions"]),
    ("sdmx sdmx-cases.yaml -p sdmx-cases.yaml", ["contains cases with targets, not answers", "by position"]),
    ("sdmx sdmx-structures.xml -p sdmx-predictions.jsonl", ["contains SDMX structures", "CASES --structures"]),
    ("sdmx data.csv -p sdmx-predictions.jsonl", ["contains SDMX data", "CASES --data data.csv"]),
    ("sdmx sdmx-cases.yaml -p sdmx-structures.xml", ["contains SDMX structures", "write  --structures"]),
    ("sdmx sdmx-cases.yaml -p data.csv", ["contains SDMX data", "write  --data data.csv"]),
    (f"{SDMX} --structures data.csv", ["contains SDMX data, not SDMX structures", "write  --data data.csv"]),
    (f"{SDMX} --structures sdmx-cases.yaml", ["contains cases with targets", "by position"]),
    (f"{SDMX} --data sdmx-structures.xml", ["contains SDMX structures, not SDMX data", "write  --structures"]),
    (f"{SDMX} --db data.csv", ["did you mean --data?"]),
    ("sdmx eval sdmx-cases.yaml -p a.jsonl", ["leave out 'eval'", "assay sdmx sdmx-cases.yaml -p a.jsonl"]),
    ("sdmx sdmx-cases.yaml score -p a.jsonl", ["leave out 'score'", "assay sdmx sdmx-cases.yaml -p a.jsonl"]),
    ("run evaluate questions.jsonl -p a.jsonl", ["leave out 'evaluate'", "assay run questions.jsonl -p a.jsonl"]),
    ("denodo eval --input x.xlsx", ["leave out 'eval'", "assay denodo --input x.xlsx"]),
    ("run sdmx-cases.yaml", ["not gold queries", "assay sdmx sdmx-cases.yaml --predictions FILE"]),
    ("run sdmx-cases.yaml -p sdmx-predictions.jsonl", ["sdmx-cases.yaml --predictions sdmx-predictions.jsonl"]),
    ("run sdmx-cases.yaml -p sdmx-predictions.jsonl --db sqlite:///shop.sqlite", ["assay sdmx sdmx-cases.yaml"]),
    ("lint sdmx-cases.yaml --db sqlite:///shop.sqlite", ["not gold queries", "assay sdmx sdmx-cases.yaml"]),
    ("sdmx questions.jsonl -p predictions.jsonl", ["questions.jsonl"]),
    (
        "sdmx sdmx-cases.yaml -p other-ids.jsonl",
        ['"gdp-and-gdp-per-capita"', '"q-gdp-and-gdp-per-capita"', "(--prediction-id-column)"],
    ),
    (f"{SDMX} --min match=80%", ["match", "did you mean 'exact_match'?"]),
    (f"{SDMX} --min exact=80%", ["exact", "did you mean 'exact_match'?"]),
    (f"{SDMX} --min em=80%", ["em", "did you mean 'exact_match'?"]),
    (f"{SDMX} --min f1=80%", ["f1", "did you mean 'macro_f1'?"]),
    (f"{SDMX} --min recall=80%", ["recall", "did you mean 'macro_recall'?"]),
    (f"{SDMX} --min spider_ex=80%", ["spider_ex", "it computes exact_match"]),
    (f"{RUN} --min em=80%", ["em", "did you mean 'spider_em'?"]),
    (f"{RUN} --min f1=80%", ["f1", "did you mean 'bird_soft_f1'?"]),
    (f"{RUN} --min recall=80%", ["recall", "did you mean 'column_recall'?"]),
    (f"{RUN} --min macro_f1=80%", ["macro_f1", "it computes match"]),
    (f"{SDMX} --min 80%", ["exact_match=0.8 or exact_match=80%"]),
    (f"{SDMX} --threshold 0.8", ["did you mean --min exact_match=80%?"]),
    # Runs.
    ("report runs/aa", ["runs/aa", "did you mean 'runs/a'?"]),
    ("report run/a", ["run/a", "did you mean 'runs/a'?"]),
    ("report a", ["did you mean 'runs/a'?"]),
    ("report runs", ["run.json is missing", "runs/a, runs/b"]),
    ("view rnus/a/run.json", ["did you mean 'runs/a'?"]),
    ("diff runs/a runs/zzz", ["runs/zzz", "Runs next to it: runs/a, runs/b"]),
    ("sql runs/aa 'SELECT 1'", ["did you mean 'runs/a'?"]),
    ("runs rusn", ["rusn", "did you mean 'runs'?"]),
    (f"{RUN} --baseline runs/aa --fail-on-regression", ["baseline", "did you mean 'runs/a'?"]),
    ("diff runs/a runs/a", ["runs/a twice", "compared with itself"]),
    ("diff runs/a runs/../runs/a", ["runs/a and runs/../runs/a", "compared with itself"]),
    ("diff runs/a runs/a/run.json", ["compared with itself"]),
    ("diff runs/a link", ["runs/a and link", "compared with itself"]),
    ("leaderboard runs/a link runs/a", ["compared with itself"]),
    ("explain runs/a c", ["no case 'c'"]),
    # `check`, `refute` and `sql`.
    (f"check - - {DB}", ["standard input contains one query"]),
    (f"check @absent.sql 'SELECT 1' {DB}", ["SQL_PREDICTED is @absent.sql"]),
    (f"check shop.sqlite 'SELECT 1' {DB}", ["write @shop.sqlite"]),
    (f"check 'SELECT 1' {DB}", ["SQL_GOLD"]),
    (f"{CHECK} --db sqlite:///absent.sqlite", ["absent.sqlite"]),
    (f"{CHECK} --db sqlit:///shop.sqlite", ["sqlite"]),
    (f"{CHECK} --db sqlite:///{{db_id}}.sqlite", ["name one database"]),
    (f"{CHECK} {DB} --columns any-order", ["write 'any' or 'strict'"]),
    (f"{CHECK} {DB} --duplicates gone", ["write 'ignored' or 'counted'"]),
    (f"{CHECK} {DB} --witness-time 1s", ["add --witness"]),
    (f"{CHECK} --dv sqlite:///shop.sqlite", ["--db"]),
    (PAIR, ["either a database, or the schema"]),
    (f"{PAIR} --schema absent.sql", ["cannot be read"]),
    (f"{PAIR} --db sqlite:///absent.sqlite", ["absent.sqlite"]),
    (f"{PAIR} --schema schema.sql --dialect klingon", ["unknown SQL dialect 'klingon'"]),
    (f"{PAIR} --schema schema.sql --json --sql", ["name a file for all but one of them"]),
    (f"{PAIR} {DB} --dialect sqlite", ["leave out the dialect"]),
    (f"refute @absent.sql 'SELECT 1' {DB}", ["absent.sql"]),
    ("sql runs/a 'SELECT caus FROM cases'", ["'cause'"]),
    ("sql runs/a 'SELECT 1 FROM score'", ['"scores"']),
    ("sql runs/a 'SELECT 1; SELECT 2'", ["expected one statement, found 2"]),
    ("sql runs/a \"COPY cases TO 'x.csv'\"", ["only read"]),
    ("sql runs/a \"ATTACH 'x.duckdb'\"", ["only read"]),
    ("sql runs/a \"SELECT * FROM read_text('shop.sqlite')\"", ["disabled"]),
    ("sql runs/a \"SELECT * FROM 'runs/a/results.parquet'\"", ["results.parquet"]),
    ("sql runs/a 'SELECT * FROM folders'", ["folders"]),
    ("sql runs/a ''", ["expected one statement, found 0"]),
    ("sql nowhere 'SELECT 1'", ["nowhere"]),
    ("sql 'SELECT 1 FROM cases'", ["assay sql RUN"]),
    ("sql runs/a @absent.sql", ["absent.sql"]),
    ("sql runs/a \"SELECT '\udcff'\"", ["not valid UTF-8"]),
    ("sql runs/a 'SELECT 1' --csv --json", ["give one of them"]),
    # Comparisons and lists of runs.
    ("diff", ["two runs or more, and none was given"]),
    ("diff runs/a", ["runs/a was given"]),
    ("diff runs/a runs/b third --min match=80%", ["gates compare a candidate with a baseline"]),
    ("diff runs/a runs/b third --max-cases 3", ["--max-cases is for a comparison of two runs"]),
    ("diff runs/a runs/b --metric match", ["--metric match ranks three or more runs"]),
    ("diff runs/a runs/b --md - --json -", ["--md - and --json - would be mixed on standard output"]),
    ("diff runs/a runs/b --confidence 95", ["confidence is 95"]),
    ("diff runs/a runs/b --seed -1", ["seed is -1: give a number from 0 up"]),
    ("diff runs/a runs/b --must-pass tag:nothing", ["tag:nothing"]),
    ("diff runs/a runs/b --max-drop matsch=1%", ["did you mean 'match'?"]),
    ("leaderboard nowhere", ["nowhere"]),
    ("leaderboard runs --csv - --md -", ["name a file for all but one of them"]),
    ("runs runs --experiment x", ["--mlflow"]),
    ("view runs/a --no-browser --idle 0", ["--idle"]),
    ("view runs/a --no-browser --idle -1", ["--idle"]),
    ("view runs/a --no-browser --idle nan", ["--idle"]),
    ("view runs/a --no-browser --port 70000", ["--port"]),
    # Options of a run.
    (
        f"run questions.jsonl -p nowhere/answers.jsonl {DB}",
        ["nowhere/answers.jsonl", "does not exist", 'its folder "nowhere"'],
    ),
    (f"{FILES} --db sqlite:///{{db_id}}p.sqlite", ["questions.jsonl, line 1", "shopp.sqlite", "shop.sqlite"]),
    (f"{FILES} --db sqlite:///questions.jsonl", ["questions.jsonl", "SQLite"]),
    (f"{FILES} --db dbs/shop.sqlite", ["is not a database URL", "sqlite:///"]),
    (f"{FILES} --db orakle://host/x", ["orakle", "sqlite", "duckdb"]),
    (f"{FILES} --db mysql://user:hush@host/x", ["***"]),
    (f"{RUN} --metrics match,match", ["match", "twice"]),
    (f"{RUN} --columns loose", ["loose", "strict"]),
    (f"{RUN} --duplicates maybe", ["duplicates is 'maybe': write 'ignored' or 'counted'"]),
    (f"{RUN} --relative-tolerance 1", ["relative_tolerance is 1.0: give a number from 0 up, and below 1"]),
    *((f"{RUN} --relative-tolerance={one}", [one, "a number from 0 up"]) for one in ("-1e-09", "nan", "inf")),
    *((f"{RUN} --absolute-tolerance={one}", [one, "a number from 0 up"]) for one in ("-1e-09", "nan", "inf")),
    (f"{RUN} --gold-column gold_sq", ["gold_sq", "gold_sql"]),
    (f"{RUN} --case-format jsnl", ["jsnl", "jsonl"]),
    (f"{RUN} --limt 3", ["--limt", "--limit"]),
    (f"{RUN} --timeout 0", ["--timeout"]),
    (f"{RUN} -o questions.jsonl", ["questions.jsonl", "another folder"]),
    # Names of metrics, and runs and folders in the wrong place.
    (f"{RUN} --metrics EX", ["'EX' (did you mean 'spider_ex' or 'bird_ex'?)"]),
    (f"{RUN} --metrics match,exec_match", ["'exec_match' (did you mean 'spider_ex' or 'bird_ex'?)"]),
    (f"{RUN} --metrics EM,nothing_like_it", ["unknown metric 'nothing_like_it': see  assay docs metrics"]),
    (f"{RUN} --metrics 'match spider_ex'", ["separate names by commas: match,spider_ex"]),
    (f"{RUN} --metrics match --min spider_em=50%", ["write  --metrics match,spider_em"]),
    (f"{RUN} --min match=150%", ["from 0 to 1 (100%), not 150%"]),
    (f"{FILES} --db db", ["write  --db 'sqlite:///db/{db_id}/{db_id}.sqlite'"]),
    ("lint questions.jsonl --db db", ["write  --db 'sqlite:///db/{db_id}/{db_id}.sqlite'"]),
    ("explain b runs/a", ["write  assay explain runs/a b"]),
    ("explain runs/a case-b", ["did you mean 'b'?"]),
    ("explain runs/a 'Case b'", ["did you mean 'b'?"]),
    ("refute runs/a b", ["assay explain runs/a b"]),
    ("lint runs/a", ["is a stored run, not a file of questions"]),
    (f"run runs -p predictions.jsonl {DB}", ["assay leaderboard runs"]),
    # Verbs for queries, with a run of selections.
    ("judge selections --model gpt-4.1", ["evaluated selections", "needs a run of queries"]),
    ("estimate selections", ["evaluated selections", "needs a run of queries"]),
    ("review runs/a --export new.jsonl", ["no reviews", "assay review runs/a"]),
    # Keys, and texts that are not queries.
    (LIVE, ["needs an API key", KEY]),
    (f"{LIVE} -o runs/live", ["needs an API key", KEY]),
    ("judge runs/a --model gpt-4.1", ["needs an API key", KEY]),
    (f"{REFUTE} nonsense", ["second query", "cannot be read"]),
    (f"{REFUTE} 'SELECT a FROM tt'", ["tt", "did you mean 't'?"]),
    (f"{REFUTE} 'SELECT aa FROM t'", ["second query fails", "aa"]),
    (f"{REFUTE} ''", ["second query", "cannot be read"]),
    (f"{REFUTE} 'SELECT aa FROM t' --json", ["second query fails", "aa"]),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions, predictions, a database, two runs and a link to the first."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, rows in (("questions.jsonl", QUESTIONS), ("predictions.jsonl", PREDICTIONS)):
        json_lines(folder / name, rows)
    sqlite_file(folder / "shop.sqlite", "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');")
    with chdir(folder):
        for run in ("runs/a", "runs/b", "third"):
            assert run_command_line([*shlex.split(RUN), "-o", run, "-q", "--workers", "1"]) == 0
    for name in ("cases.yaml", "predictions.jsonl", "structures.xml"):
        shutil.copyfile(sdmx_path(name), folder / f"sdmx-{name}")
    renamed = (folder / "sdmx-predictions.jsonl").read_text(encoding="utf-8").replace('{"id": "', '{"id": "q-')
    (folder / "other-ids.jsonl").write_text(renamed, encoding="utf-8")
    (folder / "data.csv").write_text(DATA, encoding="utf-8")
    (folder / "db" / "shop").mkdir(parents=True)
    shutil.copyfile(folder / "shop.sqlite", folder / "db" / "shop" / "shop.sqlite")
    (folder / "schema.sql").write_text("CREATE TABLE t(a INTEGER, b TEXT)", encoding="utf-8")
    assay.evaluate_selections(
        folder / "sdmx-cases.yaml", folder / "sdmx-predictions.jsonl", output=folder / "selections"
    )
    (folder / "link").symlink_to(folder / "runs" / "a")
    return folder


def _without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (KEY, "OPENAI_BASE_URL", "DIAL_API_KEY", "ASSAY_TOKEN", "ASSAY_USER", "ASSAY_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@each(("command", "said"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_answered_by_what_to_write(
    command: str,
    said: list[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    _without_keys(monkeypatch)
    before = sorted(place.rglob("*"))
    status = run_command_line(shlex.split(command))
    printed = capsys.readouterr()
    assert status == 2, printed.err
    assert printed.err.startswith("assay: error: ")
    assert len(printed.err.strip().splitlines()) == 1
    assert [part for part in said if part not in printed.err] == [], printed.err
    assert "--metrics" not in command or len(printed.err) < 300, "no list of forty names"
    assert not printed.out or "--json" in command
    assert "hush" not in printed.err
    assert sorted(place.rglob("*")) == before, "nothing is written"


HEAD = "id,question,gold_sql,predicted_sql"
ROW = "a,how many?,SELECT count(*) FROM t,SELECT 1"


@each("verb", ["run in.csv --db sqlite:///shop.sqlite", "run in.csv", "lint in.csv"])
@each(
    "text, options, said",
    [
        (f"Our tests,,,\n{HEAD}\n{ROW}\n", "--header-row 0", "--header-row 1"),
        (f"Our tests,,,\n{HEAD}\n{ROW}\n", "--header-row 9", "--header-row 1"),
        (f"{HEAD}\n{ROW}\nTotal,,,\n", "", "the question is blank"),
        (f"{HEAD},question\n{ROW},how many?\n", "", 'names the column "question" more than once'),
        (f"id,questoin,gold_slq,predicted_sql\n{ROW}\n", "", "--gold-column gold_slq"),
        (f"Nr,Frage,Abfrage,predicted_sql\n{ROW}\n", "", "--gold-column Abfrage"),
    ],
)
def test_a_file_with_both_queries_is_not_taken_for_predictions(
    verb: str,
    text: str,
    options: str,
    said: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "in.csv").write_text(text)
    shutil.copy(place / "shop.sqlite", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_command_line(shlex.split(f"{verb} {options}")) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "no gold queries" not in message


@each("command", ["report runs/a/run.json", "diff runs/a/run.json runs/b/run.json", "sql runs/a/run.json 'SELECT 1'"])
def test_the_file_of_a_run_stands_for_its_folder(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert run_command_line(shlex.split(command)) == 0
    assert capsys.readouterr().out


@each(
    ("before", "after"),
    [
        ("check --json 'SELECT 1' 'SELECT 1' --db sqlite:///shop.sqlite", "assay-pair"),
        ("check 'SELECT 1' 'SELECT 1' --db sqlite:///shop.sqlite --json", "assay-pair"),
        ("check 'SELECT 1' 'SELECT 1' --json --db sqlite:///shop.sqlite", "assay-pair"),
        ("report --json runs/a", "assay-report"),
        ("report runs/a --json -", "assay-report"),
        ("report runs/a --json=-", "assay-report"),
        ("lint --json questions.jsonl", "assay-lint"),
        ("runs runs --json", "assay-runs"),
        ("diff runs/a runs/b --json", "assay-diff"),
        ("leaderboard --json runs/a runs/b", "assay-leaderboard"),
        (f"{REFUTE} 'SELECT b FROM t' --json", "assay-refutation"),
    ],
)
def test_json_is_printed_unless_a_file_is_named(
    before: str, after: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert run_command_line(shlex.split(before)) == 0
    printed = capfd.readouterr().out
    assert printed.endswith("\n")
    assert json.loads(printed)["format"] == after


@each(
    "command",
    [
        "check 'SELECT 1' 'SELECT 1' --db sqlite:///shop.sqlite",
        "report runs/a",
        "explain runs/a b",
        "lint questions.jsonl",
        "runs runs",
        "diff runs/a runs/b",
        "leaderboard runs/a runs/b",
        "sql runs/a 'SELECT 1 AS one'",
        "doctor --untried",
        f"{REFUTE} 'SELECT b FROM t'",
    ],
)
def test_json_goes_into_the_file_that_is_named(
    command: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    target = tmp_path / "made" / "found.json"
    assert run_command_line([*shlex.split(command), "--json", str(target)]) == 0
    assert json.loads(target.read_text(encoding="utf-8"))
    printed = capsys.readouterr()
    assert str(target) in printed.out + printed.err


WORDS = [
    *("questions.jsonl", "predictions.jsonl", "shop.sqlite", "runs", "runs/a", "runs/b", "runs/a/run.json", "absent"),
    *("sqlite:///shop.sqlite", "SELECT a FROM t", "SELECT", "", "-", "a", "0", "-1", "inf", "match=80%", "accuracy=1"),
    *(
        "match",
        "x=y",
        "é\x00",
        "\udcff",
        "@absent.sql",
        "chat:gpt-4.1",
        "python:none:none",
        "--",
        "error",
        "1,2",
        "nan",
    ),
]
NEVER = {
    "--output",
    "-o",
    "--save-report",
    "--cache",
    "--browser",
    "--port",
    "--export",
    "--queue",
    "--next",
    "--scratch",
}
"""Options that write elsewhere or serve: the fuzz is for mistakes, not for work."""
SERVING = {"view", "review", "demo", "suite", "denodo", "docs", "doctor", "llmsql"}
VALID = [
    shlex.split(one) for one in (RUN, "report runs/a", "diff runs/a runs/b", "lint questions.jsonl", f"{REFUTE} x")
]


def _random_command(chance: random.Random) -> list[str]:
    verbs = app.every_verb()
    verb = chance.choice([*sorted(set(verbs) - SERVING), *chance.sample(sorted(OTHER_VERBS), 3)])
    options = ["--no-such-option"]
    if verb in verbs:
        options += [name for one in verbs[verb].params if one.param_type_name == "option" for name in one.opts]
    options = [name for name in options if name not in NEVER]
    begun = next((one for one in VALID if one[0] == verb and chance.random() < 0.5), [verb])
    words: list[str] = []
    for _ in range(chance.randrange(7)):
        words.append(chance.choice(WORDS) if chance.random() < 0.6 else chance.choice(options))
    return [*begun, *words]


def test_no_command_line_ends_in_a_traceback(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any words in any order: a message, never a fault of Assay's own. Bounded in count and time."""
    monkeypatch.chdir(shutil.copytree(place, tmp_path / "place"))
    _without_keys(monkeypatch)
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    end = time.monotonic() + 20
    for _ in range(400):
        command = _random_command(chance)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT 1")))
        status = run_command_line(command)
        printed = capsys.readouterr()
        assert status in (0, 1, 2, 3), (seed, command, printed.err)
        assert "Traceback" not in printed.err, (seed, command)
        assert "is a fault in Assay" not in printed.err, (seed, command, printed.err)
        if time.monotonic() > end:
            break
