"""Each row of docs/reference/input-faults.md: files with the fault, the command, and what it says and ends with."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import xlsxwriter

import commands

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "input-faults.md"
ROW = re.compile(r"^\| (?P<given>.+?) \| `(?P<printed>.+)` \| (?P<status>\d) \|$", re.MULTILINE)

Q = {"a": "how many?", "b": "which?"}
GOLD = {"a": "SELECT count(*) FROM t", "b": "SELECT a FROM t"}
Rows = list[dict[str, object]]


def questions(name: str | None = "id", gold: str = "gold_sql", **more: object) -> Rows:
    return [
        {**({name: key} if name else {}), "question": Q[key], gold: GOLD[key], "db_id": "shop", **more} for key in Q
    ]


def answers(name: str | None = "id", keys: str = "ba", column: str = "predicted_sql", **more: object) -> Rows:
    return [{**({name: key} if name else {}), column: f"{GOLD[key]} LIMIT 9", **more} for key in keys]


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def book(*sheets: str, merged: bool = False, far: bool = False, spoilt: bool = False) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with xlsxwriter.Workbook(path) as workbook:
            for name in sheets:
                sheet = workbook.add_worksheet(name)
                sheet.write_row(0, 0, ["id", "question", "gold_sql", "db_id"])
                for row, case in enumerate(questions(), start=1):
                    sheet.write_row(row, 0, [str(value) for value in case.values()])
                if merged:
                    sheet.merge_range(2, 1, 2, 2, "both")
                if spoilt:
                    sheet.write_formula("C3", "=Other!#REF!", None, "#REF!")
                if far:
                    sheet.write(1_048_575, 16_383, "x")

    return write


def not_computed(path: Path) -> None:
    """Answers of which one is a formula, as a program writes it that does not compute."""
    plain = path.with_name("plain.xlsx")
    with xlsxwriter.Workbook(plain) as workbook:
        sheet = workbook.add_worksheet("Answers")
        sheet.write_row(0, 0, ["id", "predicted_sql"])
        sheet.write_row(1, 0, ["a"])
        sheet.write_formula("B2", '="SELECT "&1', None, 5)
        sheet.write_row(2, 0, ["b", "SELECT 2"])
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as made:
        for part in source.namelist():
            made.writestr(part, source.read(part).replace(b"<v>5</v>", b"<v></v>"))
    plain.unlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Files by name, as rows, bytes or what writes them; and options beside the usual ones."""

    files: Mapping[str, Rows | bytes | Callable[[Path], None]] = field(default_factory=dict)
    cases: str = "cases.jsonl"
    predictions: str | None = "predictions.jsonl"
    options: tuple[str, ...] = ()
    db: str = "sqlite:///dbs/{db_id}.sqlite"


NESTED: Rows = [{**row, "predictions": {"pipeA": {"sql": "SELECT 9"}}} for row in questions(gold="sql")]
TWO = {"cases.xlsx": book("A", "B")}
CP1252 = {"cases.csv": "id,question,gold_sql,db_id\na,café?,SELECT 1,shop\nb,x,SELECT 2,shop\n".encode("cp1252")}
MIXED: Rows = [{**row, "question": Q["b" if row["id"] == "a" else "a"]} for row in answers(keys="ab")]
BOTH_NR = {"cases.jsonl": questions("nr"), "predictions.jsonl": answers("nr")}
NO_IDS = {"cases.jsonl": questions(None), "predictions.jsonl": answers(None, keys="ab")}


def in_database(name: str) -> Fault:
    return Fault(files={"cases.jsonl": [{**row, "db_id": name} for row in questions()]})


BIRD: Rows = [
    {"question_id": 1471 + 3 * at, "db_id": "shop", "question": f"{at}?", "evidence": "", "SQL": "SELECT 1"}
    for at in range(2)
]
SPIDER2 = {
    "bench/spider2-lite.jsonl": [{"instance_id": "local001", "db": "shop", "question": "how many?"}],
    "bench/gold/exec_result/local001.csv": b"n\n2\n",
    "bench/gold/spider2lite_eval.jsonl": [{"instance_id": "local001", "condition_cols": [], "ignore_order": True}],
    "out/local001.sql": b"SELECT count(*) AS n FROM t",
}
TOOLKIT: Rows = [
    {"id": 1, "db_id": "shop", "utterance": "how many?", "sql": ["SELECT 1"]}
    | {"predictions": {name: {"predicted_sql": "SELECT 2"} for name in ("granite", "llama")}}
]
EVALBENCH: Rows = [
    {
        "id": 1,
        "nl_prompt": "how many?",
        "database": "shop",
        "golden_sql": {"sqlite": ["SELECT 1"], "mysql": ["SELECT 2"]},
    }
]
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sql"},
    "samples": [
        {"id": 1, "epoch": epoch, "input": "how many?", "target": "SELECT 1", "output": {"completion": "SELECT 2"}}
        for epoch in (1, 2)
    ],
}


def document(of: object) -> bytes:
    return json.dumps(of).encode()


TITLED = (
    b"Regression tests,,,\n\nFrage,Abfrage,Datenbank,Antwort\n"
    b"how many?,SELECT count(*) FROM t,shop,SELECT 2\nwhich are they?,SELECT a FROM t,shop,SELECT 1\n"
)


def word_document(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")


def bird(predictions: Mapping[str, str], *options: str) -> Fault:
    return Fault(
        files={"cases.json": document(BIRD), "answers.json": document(predictions)},
        cases="cases.json",
        predictions="answers.json",
        options=options,
    )


def defog(query: str) -> Fault:
    text = f'question,query,db_name,query_category\nhow many?,"{query}",shop,basic\n'
    return Fault(files={"cases.csv": text.encode()}, cases="cases.csv")


def sparc(answers: bytes = b"SELECT 1\n", turns: str = "interaction") -> Fault:
    said = [{"utterance": "how many?", "query": "SELECT 1"}]
    conversations = [{"database_id": "shop", name: said} for name in ("interaction", turns)]
    return Fault(
        files={"cases.json": document(conversations), "answers.txt": answers},
        cases="cases.json",
        predictions="answers.txt",
    )


def spider2(*, without: str = "", **files: bytes) -> Fault:
    kept = {name: content for name, content in SPIDER2.items() if name != without}
    return Fault(files={**kept, **files}, cases="bench", predictions="out", db="sqlite:///dbs/shop.sqlite")


def tool(of: object, *options: str) -> Fault:
    return Fault(files={"tool.json": document(of)}, cases="tool.json", predictions=None, options=options)


FAULTS: Mapping[str, Fault] = {
    "predictions with an id column of an unknown name": Fault(files={"predictions.jsonl": answers("question_no")}),
    "ids in both files under the same unknown name": Fault(files=BOTH_NR),
    "the same, with `--id-column nr`": Fault(files=BOTH_NR),
    "questions with ids, predictions without": Fault(files={"predictions.jsonl": answers(None)}),
    "the same, with `--prediction-id-column @position`": Fault(files={"predictions.jsonl": answers(None)}),
    "no ids on either side, equal numbers of rows": Fault(files=NO_IDS),
    "no ids on either side, too few predictions": Fault(files={**NO_IDS, "predictions.jsonl": answers(None, keys="a")}),
    "no ids on either side, row labels in another order": Fault(
        files={"cases.jsonl": questions(None), "predictions.csv": b",predicted_sql\n1,SELECT 1\n0,SELECT 2\n"},
        predictions="predictions.csv",
    ),
    "questions without ids, predictions with ids that may count from 1": Fault(
        files={"cases.jsonl": questions(None), "predictions.jsonl": [{"id": 1, "sql": "SELECT 1"}]}
    ),
    "predictions without ids that repeat their questions": Fault(
        files={"predictions.jsonl": [{"question": Q[key], "sql": GOLD[key]} for key in "ba"]}
    ),
    "a prediction that repeats another question": Fault(files={"predictions.jsonl": MIXED}),
    "the same, with `--ignore-questions`": Fault(files={"predictions.jsonl": MIXED}),
    "a prediction without a matching case": Fault(files={"predictions.jsonl": [*answers(), {"id": "z", "sql": "x"}]}),
    "ids that match no case": Fault(files={"predictions.jsonl": [{"id": "y", "sql": "x"}]}),
    "an id twice": Fault(files={"predictions.jsonl": answers(keys="aa")}),
    "a key and an id that differ": Fault(
        files={"predictions.json": json.dumps({"x": {"id": "a", "sql": "SELECT 1"}}).encode()},
        predictions="predictions.json",
    ),
    "a question file as its own predictions": Fault(
        files={"cases.jsonl": questions(gold="sql")}, predictions="cases.jsonl"
    ),
    "a question file without predictions alone": Fault(predictions=None),
    "gold queries as `sql` next to nested predictions": Fault(files={"cases.jsonl": NESTED}, predictions="cases.jsonl"),
    "the same, with `--prediction-column predictions.pipeA.sql`": Fault(
        files={"cases.jsonl": NESTED}, predictions=None
    ),
    "questions, gold and predictions in one file": Fault(
        files={"cases.jsonl": questions(predicted_sql="SELECT 1")}, predictions=None
    ),
    "a path to a missing key": Fault(
        files={"cases.jsonl": NESTED},
        predictions=None,
        options=("--prediction-column", "predictions.pipeA.sqll"),
    ),
    "predictions that are copies of the gold queries": Fault(
        files={"predictions.jsonl": [{"id": key, "sql": GOLD[key]} for key in "ab"]}
    ),
    "a workbook with two sheets of questions": Fault(files=TWO, cases="cases.xlsx"),
    "the same, with `--sheet A`": Fault(files=TWO, cases="cases.xlsx"),
    "an unknown sheet": Fault(files=TWO, cases="cases.xlsx", options=("--sheet", "C")),
    "cells merged over two columns": Fault(files={"cases.xlsx": book("A", merged=True)}, cases="cases.xlsx"),
    "a workbook with a cell in the last row and column": Fault(
        files={"cases.xlsx": book("A", far=True)}, cases="cases.xlsx"
    ),
    "a cell with an error value": Fault(files={"cases.xlsx": book("A", spoilt=True)}, cases="cases.xlsx"),
    "a prediction that is a formula without a computed value": Fault(
        files={"answers.xlsx": not_computed}, predictions="answers.xlsx"
    ),
    "a text in Windows-1252": Fault(files=CP1252, cases="cases.csv"),
    "the same, with `--encoding cp1252`": Fault(files=CP1252, cases="cases.csv"),
    "UTF-16 without a byte order mark": Fault(files={"cases.jsonl": lines(questions()).decode().encode("utf-16-le")}),
    "a title above other names for the columns": Fault(
        files={"cases.csv": TITLED}, cases="cases.csv", predictions=None
    ),
    "the same, with `--question-column Frage --gold-column Abfrage --db-column Datenbank --header-row 2`": Fault(
        files={"cases.csv": TITLED}, cases="cases.csv", predictions=None, options=("--prediction-column", "Antwort")
    ),
    "a Word document called `.xlsx`": Fault(files={"cases.xlsx": word_document}, cases="cases.xlsx"),
    "JSON called `.csv`": Fault(files={"cases.csv": document(questions())}, cases="cases.csv"),
    "an unknown encoding": Fault(options=("--encoding", "utf-99")),
    "an empty file": Fault(files={"predictions.jsonl": b""}),
    "a text that ends in zero bytes": Fault(
        files={"predictions.csv": b"id,prediction\na,SELECT 1\n" + b"\0" * 9}, predictions="predictions.csv"
    ),
    "a missing file": Fault(predictions="nowhere.jsonl"),
    "broken JSON": Fault(files={"predictions.jsonl": b'{"id": "a", '}),
    "an id with an escape sequence, twice": Fault(
        files={"cases.jsonl": [{**row, "id": "\x1b[31ma"} for row in questions()]}
    ),
    "an unknown format": Fault(options=("--case-format", "brid")),
    "an expected result with an unknown key": Fault(
        files={"cases.jsonl": [{"id": "a", "question": "?", "gold_result": {"fil": "a.csv"}}]}
    ),
    "an expected result whose rows differ in width": Fault(
        files={"cases.jsonl": [{"id": "a", "question": "?", "gold_result": [[1], [1, 2]]}]}
    ),
    "an unknown case option": Fault(files={"cases.jsonl": questions(options={"duplicate": "ignored"})}),
    "BIRD's predictions by `question_id`": bird({"1471": "SELECT 1", "1474": "SELECT 1\t----- bird -----\tshop"}),
    "the same, with `--prediction-id-column question_id`": bird(
        {"1471": "SELECT 1", "1474": "SELECT 1\t----- bird -----\tshop"}
    ),
    "a BIRD prediction for another database": bird(
        {"0": "SELECT 1\t----- bird -----\tshop", "1": "SELECT 1\t----- bird -----\tshoq"}
    ),
    "an unclosed brace in a defog query": defog("SELECT {a, b FROM t"),
    "empty braces in a defog query without columns before them": defog("SELECT {} FROM t"),
    "a SParC conversation without turns": sparc(turns="interactions"),
    "SParC lines with a misplaced blank line": sparc(b"SELECT 1\nSELECT 1\n\nSELECT 1\n"),
    "EHRSQL questions without labels": Fault(
        files={"ehr/data.json": document({"version": "1", "data": [{"id": "a", "question": "?"}]})}, cases="ehr"
    ),
    "another file among Spider 2.0 predictions": spider2(**{"out/readme.txt": b"x"}),
    "a prediction for an unknown Spider 2.0 instance": spider2(**{"out/local01.csv": b"n\n2\n"}),
    "an empty folder of predictions": spider2(without="out/local001.sql", **{"out/.keep": b""}),
    "Spider 2.0 gold results without the evaluation file": spider2(without="bench/gold/spider2lite_eval.jsonl"),
    "gold queries in several dialects": tool(EVALBENCH),
    "predictions of several pipelines": tool(TOOLKIT),
    "a log without the epoch that is named": tool(INSPECT, "--prediction-column", "epoch 3"),
    "a truncated log": Fault(files={"log.eval": b"PK\x03\x04 cut"}, cases="log.eval", predictions=None),
    "a db_id with `..`": in_database("../dbs/shop"),
    "a db_id that is a link out of the folder": in_database("link"),
    "no column for `{db_id}`": Fault(
        files={"cases.jsonl": [{**row, "db_id": None, "base": "shop"} for row in questions()]}
    ),
    "another name than `db_id` in a template": Fault(db="sqlite:///dbs/{db}.sqlite"),
    "a JDBC URL": Fault(db="jdbc:postgresql://db.example:5432/shop?user=ann&password=hush"),
    "an `@` in a password": Fault(db="postgresql://ann:hu@sh@db.example/shop"),
    "a Windows path": Fault(db="C:\\data\\shop.db"),
    "a folder as database": Fault(db="sqlite:///dbs"),
    "a db_id without a database": in_database("shopp"),
}


def rows_of_the_page() -> list[tuple[str, str, int]]:
    found = ROW.finditer(PAGE.read_text(encoding="utf-8"))
    return [(row["given"], row["printed"], int(row["status"])) for row in found]


def test_the_page_and_the_faults_are_the_same() -> None:
    assert [given for given, _, _ in rows_of_the_page()] == list(FAULTS)


@pytest.mark.parametrize(("given", "printed", "status"), rows_of_the_page(), ids=lambda value: str(value)[:60])
def test_what_is_printed_and_the_exit_status(
    tmp_path: Path, make_sqlite: Callable[..., Path], given: str, printed: str, status: int
) -> None:
    make_sqlite("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);", "dbs/shop.sqlite")
    make_sqlite("CREATE TABLE t(a INTEGER);", "link.sqlite")
    (tmp_path / "dbs" / "link.sqlite").symlink_to(tmp_path / "link.sqlite")
    fault = FAULTS[given]
    for name, content in {"cases.jsonl": questions(), "predictions.jsonl": answers(), **fault.files}.items():
        if callable(content):
            content(tmp_path / name)
        else:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else lines(content))
    before = {path.name for path in tmp_path.iterdir()}
    option = re.search(r"with `(--.+)`", given)
    command = [
        *("run", fault.cases, "--db", fault.db, "-o", "run"),
        *(["-p", fault.predictions] if fault.predictions else []),
        *fault.options,
        *(option[1].split() if option else []),
        "--full",
    ]
    plain = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "300", "PYTHONIOENCODING": "utf-8"}
    done = commands.here(command, cwd=tmp_path, env=plain)
    assert done.returncode == status, done.stderr
    said = done.stdout if status == 0 else done.stderr
    assert re.search(re.escape(printed).replace("…", ".*"), said), said
    assert "\x1b" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status == 2:
        assert {path.name for path in tmp_path.iterdir()} == before
