"""The exported question set: a run on it has the reviewed accuracy without any reviews, in every format."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.runs.reviews.reviewing import review_of

import assay
from assay.api.corrections import GoldTrials
from assay.api.exporting import export_reviewed
from assay.api.inputs import FileOptions
from assay.cli.view.review import score_by
from assay.errors import InputError
from assay.model import FieldNames, Leniency, Limits, Review
from assay.runs.reviews.desk import ReviewDesk
from assay.runs.reviews.file import append_reviews
from running import sqlite_url

QUERIES = (
    "SELECT count(*) FROM t",
    "SELECT a FROM t",
    "SELECT a FROM t ORDER BY a DESC",
    "SELECT DISTINCT a FROM t",
    "SELECT a, b FROM t",
    "SELECT b, a FROM t",
    "SELECT b FROM t WHERE a > 1",
    "SELECT max(a) FROM t",
    "SELECT max(a) + 0 FROM t",
    "SELECT 'x; y -- z' AS text",
    "SELECT nothing FROM t",
    "SELECT sum(a)\nFROM t",
)
COUNT = 36

Question = Mapping[str, Any]


def json_lines(questions: Sequence[Question], folder: Path) -> Path:
    return _written(folder / "dev.jsonl", "".join(json.dumps(one | {"mine": 7}) + "\n" for one in questions))


def json_list(questions: Sequence[Question], folder: Path) -> Path:
    return _written(folder / "dev.json", json.dumps([dict(one) for one in questions], indent=4))


def json_by_id(questions: Sequence[Question], folder: Path) -> Path:
    return _written(folder / "dev.json", json.dumps({one["id"]: {**one} for one in questions}))


def bird(questions: Sequence[Question], folder: Path) -> Path:
    fixed = {"db_id": "shop", "evidence": ""}
    named = [fixed | {"question_id": int(q["id"]), "question": q["question"], "SQL": q["gold"]} for q in questions]
    return _written(folder / "dev.json", json.dumps(named, indent=2))


def spider(questions: Sequence[Question], folder: Path) -> Path:
    named = [{"db_id": "shop", "question": one["question"], "query": one["gold"]} for one in questions]
    return _written(folder / "dev.json", json.dumps(named, indent=2))


def comma_separated(questions: Sequence[Question], folder: Path) -> Path:
    with (folder / "dev.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(questions[0]))
        writer.writeheader()
        writer.writerows(questions)
    return folder / "dev.csv"


def workbook(questions: Sequence[Question], folder: Path) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(folder / "dev.xlsx") as book:
        page = book.add_worksheet("questions")
        for place, row in enumerate([list(questions[0]), *(list(one.values()) for one in questions)]):
            page.write_row(place, 0, row)
    return folder / "dev.xlsx"


def gold_lines(questions: Sequence[Question], folder: Path) -> Path:
    return _written(folder / "gold.sql", "".join(f"{' '.join(one['gold'].split())}\tshop\n" for one in questions))


LAYOUTS = (json_lines, json_list, json_by_id, bird, spider, comma_separated, workbook, gold_lines)
KEEPS_ITS_FORMAT = {json_lines, json_list, json_by_id, bird, spider, comma_separated, workbook}


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    script = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (3, 'w');"
    sqlite_url(tmp_path / "shop.sqlite", script)
    return tmp_path


def questions_of(seed: int) -> list[dict[str, str]]:
    drawn = random.Random(seed)
    return [
        {"id": str(number), "question": f"Question {number}?", "gold": drawn.choice(QUERIES), "db_id": "shop"}
        for number in range(COUNT)
    ]


def predictions_of(questions: Sequence[Question], seed: int) -> dict[str, str]:
    drawn = random.Random(f"predictions {seed}")
    chosen = {one["id"]: drawn.choice((one["gold"], *QUERIES)) for one in questions}
    return chosen | {questions[0]["id"]: "null"}


def evaluated(cases: Path, predictions: Any, *, reviews: Any = False, **arguments: Any) -> assay.Run:
    given = {"databases": "sqlite:///shop.sqlite", "metrics": ["match"], "workers": 1, "reviews": reviews}
    return assay.evaluate(cases, predictions, **given, **arguments)


def drawn_reviews(run: assay.Run, seed: int) -> list[Review]:
    """Decisions of one person about some of the cases, sometimes two about one."""
    drawn, found = random.Random(f"reviews {seed}"), []
    for number, item in enumerate(drawn.choices(run.evidence, k=len(run.evidence) // 2)):
        decisions = ("confirm", "accept", "reject", "gold_wrong", "gold_wrong", "ambiguous", "unanswerable", "unsure")
        decision = drawn.choice(decisions)
        more: dict[str, Any] = {"at": f"2026-01-01T00:{number:02}:00Z", "note": drawn.choice(["", 'a "note"\n; more'])}
        if decision == "gold_wrong":
            more["gold"] = drawn.choice([None, *QUERIES])
        if decision == "ambiguous":
            choices = [Leniency(), Leniency(duplicates="ignored"), Leniency(extra_columns="allowed")]
            more["leniency"] = drawn.choice(choices)
        found.append(review_of(item.case, decision, item, **more))
    return found


def assert_exported_run_is_reviewed_run(reviewed: assay.Run, exported: assay.Run, unwritten: set[str]) -> None:
    for before, after in zip(reviewed.evidence, exported.evidence, strict=True):
        outcome = before.outcome if before.reviewed is None else before.reviewed.outcome
        if before.case.id not in unwritten:
            assert after.outcome == outcome, (before.case, before.reviewed, after.case, after.verdict)
    if not unwritten:
        totals, rate = reviewed.aggregates.reviews, exported.rate("match")
        assert (totals.after.numerator, totals.after.n) == (rate.numerator, rate.n)


@pytest.mark.parametrize(("seed", "layout"), list(enumerate(LAYOUTS)))
def test_run_on_the_exported_set_has_the_reviewed_accuracy(
    seed: int, layout: Callable[[Sequence[Question], Path], Path], folder: Path
) -> None:
    questions = questions_of(seed)
    cases = layout(questions, folder)
    by_id = predictions_of(questions, seed)
    answers = by_id if layout not in (spider, gold_lines) else dict(enumerate(by_id.values()))
    answers = {str(name): text for name, text in answers.items()}
    plain = evaluated(cases, answers)
    reviews = drawn_reviews(plain, seed)
    reviewed = evaluated(cases, answers, reviews=reviews)
    assert [item.verdict.outcome for item in reviewed.evidence] == [item.verdict.outcome for item in plain.evidence]
    exported = export_reviewed(reviewed, folder / "corrected", cases=cases, reviews=reviews)
    assert exported.changes
    assert (exported.note is None) == (layout in KEEPS_ITS_FORMAT), exported.note
    again = evaluated(exported.path, answers)
    assert_exported_run_is_reviewed_run(reviewed, again, {one.case_id for one in exported.unwritten})
    assert evaluated(exported.path, answers, reviews=reviews).aggregates.reviews is not None


def test_gold_lines_stay_lines_where_every_correction_fits(folder: Path) -> None:
    cases = gold_lines(questions_of(3), folder)
    run = evaluated(cases, {str(number): "SELECT 1" for number in range(COUNT)})
    review = review_of(run.evidence[4].case, "gold_wrong", gold="SELECT 1\n  FROM t")
    exported = export_reviewed(run, "corrected.sql", cases=cases, reviews=[review])
    assert (exported.note, exported.format) == (None, "spider")
    lines, before = exported.path.read_text().splitlines(), cases.read_text().splitlines()
    assert lines == [*before[:4], "SELECT 1 FROM t\tshop", *before[5:]]


def test_fields_that_nobody_reads_stay_and_lines_without_a_correction_are_not_touched(folder: Path) -> None:
    cases = json_lines(questions_of(4), folder)
    run = evaluated(cases, {str(number): "SELECT 1" for number in range(COUNT)})
    review = review_of(run.evidence[2].case, "unanswerable", reviewer="Ana", note="no weather")
    lines = export_reviewed(run, "gold.jsonl", cases=cases, reviews=[review]).path.read_text().splitlines()
    assert [one for one, other in zip(lines, cases.read_text().splitlines(), strict=True) if one != other] == [lines[2]]
    changed = json.loads(lines[2])
    assert (changed["mine"], changed["expects"]) == (7, "decline")
    assert changed["review"] == "Ana: the question has no answer (no weather)"


def test_wrong_match_is_named_since_no_question_set_can_say_it(folder: Path) -> None:
    cases = json_lines(questions_of(5), folder)
    gold = {one["id"]: one["gold"] for one in questions_of(5)}
    run = evaluated(cases, gold)
    item = next(item for item in run.evidence if item.outcome == "correct")
    exported = export_reviewed(run, "gold.jsonl", cases=cases, reviews=[review_of(item.case, "reject", item)])
    assert [(one.case_id, one.reviewed, one.exported) for one in exported.unwritten] == [
        (item.case.id, "incorrect", "correct")
    ]


def test_question_set_itself_is_not_overwritten(folder: Path) -> None:
    cases = json_lines(questions_of(6), folder)
    run = evaluated(cases, {str(number): "SELECT 1" for number in range(COUNT)})
    before = cases.read_bytes()
    for target in ("dev.jsonl", "dev", "dev.csv"):
        with pytest.raises(InputError, match="is the question set itself"):
            export_reviewed(run, target, cases=cases, reviews=[review_of(run.evidence[0].case, "unanswerable")])
    with pytest.raises(InputError, match="cannot be written"):
        export_reviewed(run, "absent/gold.jsonl", cases=cases, reviews=[])
    assert cases.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["dev.jsonl", "shop.sqlite"]


@pytest.mark.parametrize(
    ("suffix", "decision"),
    [
        *(("jsonl", decision) for decision in ("gold_wrong", "corrected", "lenient")),
        *(("csv", decision) for decision in ("accept", "ambiguous", "unanswerable")),
        ("jsonl", "accept"),  # a file of comma-separated values cannot keep it
    ],
)
def test_other_fields_of_a_question_do_not_contradict_its_correction(suffix: str, decision: str, folder: Path) -> None:
    """Results in place of gold queries, columns that count, options, and whether there is an answer."""
    counting, repeated = {"condition_columns": [1]}, {"duplicates": "ignored"}
    records: list[dict[str, Any]] = [
        {"id": "a", "question": "a?", "gold": ["SELECT a, b FROM t", "SELECT b FROM t"], "answerable": True},
        {"id": "b", "question": "b?", "gold": None, "gold_result": [[1], [2], [3], [3]], "answerable": True},
        {"id": "c", "question": "c?", "gold": "SELECT a, b FROM t", "options": counting, "answerable": True},
        {"id": "d", "question": "d?", "gold": "SELECT a FROM t", "options": repeated, "answerable": False},
    ]
    if suffix == "csv":
        names = ("id", "question", "gold", "gold_result", "options", "answerable")
        cells = [
            [
                "\n---\n".join(one["gold"]) if isinstance(one["gold"], list) else one["gold"],
                json.dumps(one["gold_result"]) if "gold_result" in one else "",
                "; ".join(f"{name}: {value}" for name, value in one.get("options", {}).items()),
            ]
            for one in records
        ]
        with Path("dev.csv").open("w", newline="") as file:
            rows = (
                [one["id"], one["question"], *cell, one["answerable"]] for one, cell in zip(records, cells, strict=True)
            )
            csv.writer(file).writerows([names, *rows])
    else:
        _written(folder / "dev.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    cases, answers = folder / f"dev.{suffix}", dict.fromkeys("abcd", "SELECT max(a) FROM t")
    run = evaluated(cases, answers)
    fields: dict[str, Any] = {"gold": "SELECT max(a) FROM t"} if decision == "corrected" else {}
    fields |= {"leniency": Leniency(extra_columns="allowed")} if decision == "lenient" else {}
    kind = {"corrected": "gold_wrong", "lenient": "ambiguous"}.get(decision, decision)
    reviews = [review_of(item.case, kind, item, **fields) for item in run.evidence]
    reviewed = evaluated(cases, answers, reviews=reviews)
    exported = export_reviewed(reviewed, f"gold.{suffix}", cases=cases, reviews=reviews)
    assert (exported.note is None) == (suffix == "jsonl" or decision != "accept"), exported.note
    assert not exported.unwritten
    assert_exported_run_is_reviewed_run(reviewed, evaluated(exported.path, answers), set())


ANSWERS = {
    "match": "SELECT a FROM t",
    "rows": "SELECT 7",
    "no rows": "SELECT a FROM t WHERE 0",
    "write": "DELETE FROM t",
    "several": "SELECT 1; SELECT 2",
    "prose": "I cannot say.",
    "comment": "-- nothing",
    "pragma": "PRAGMA table_info(t)",
    "error": "SELECT nothing FROM t",
    "timeout": "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
    "capped": "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 5000) SELECT * FROM r",
    "empty": "",
    "blank": "  ",
    "nothing": "null",
}
WITH_RESULT = {"match", "rows", "no rows", "pragma"}


@pytest.mark.parametrize(
    ("gold", "also"),
    [
        ("SELECT a FROM t", None),
        ("SELECT a FROM t", "gold_wrong"),
        ("SELECT broken FROM t", None),
        (None, "gold_wrong"),
        ("decline", None),
    ],
)
def test_accepted_answer_without_a_result_becomes_no_gold_query(
    gold: str | None, also: str | None, folder: Path
) -> None:
    """It is right for its text, the exported set leaves it out, and it is named where a run on the set differs."""
    asked = {"gold": None, "expects": "decline"} if gold == "decline" else {"gold": gold}
    records = [{"id": id_, "question": f"{id_}?", **asked} for id_ in ANSWERS]
    cases = _written(folder / "dev.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    limits = Limits(timeout_s=0.3, max_rows=1000)
    plain = evaluated(cases, ANSWERS, limits=limits, output=folder / "run")
    desk = ReviewDesk(plain.record, folder / "reviews.jsonl", name="run")
    with closing(GoldTrials(plain.record.settings, folder / "run")) as trials:
        for place, item in enumerate(plain.evidence):
            for decision, reviewer in (("accept", "Ana"), ("gold_wrong", "Ben"))[: 1 if also is None else 2]:
                draft = desk.draft(item, decision, reviewer=reviewer)  # type: ignore[arg-type]
                scored = desk.scored(item, draft, lambda item, case: score_by(trials.score(item, case)))
                desk.write(place, scored)
    for reviewed in (
        assay.load_run(folder / "run", reviews=folder / "reviews.jsonl"),
        evaluated(cases, ANSWERS, limits=limits, reviews=folder / "reviews.jsonl"),
    ):
        assert {item.case.id: item.reviewed and item.reviewed.outcome for item in reviewed.evidence} == dict.fromkeys(
            ANSWERS, "correct"
        )
        exported = export_reviewed(reviewed, "gold.jsonl", cases=cases, reviews=folder / "reviews.jsonl")
        again = evaluated(exported.path, ANSWERS, limits=limits)
        unwritten = {one.case_id: one.exported for one in exported.unwritten}
        assert_exported_run_is_reviewed_run(reviewed, again, set(unwritten))
        assert unwritten == {item.case.id: item.outcome for item in again.evidence if item.outcome != "correct"}
        right = {item.case.id for item in plain.evidence if item.outcome == "correct"}
        assert set(ANSWERS) - set(unwritten) <= WITH_RESULT | right
        added = {item.case.id for item in again.evidence for query in item.case.golds if query != gold}
        assert added <= WITH_RESULT, "no gold query has no result"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_an_earlier_export_is_overwritten(
    layout: Callable[[Sequence[Question], Path], Path], folder: Path
) -> None:
    questions = questions_of(7)
    cases = layout(questions, folder)
    suffix = cases.suffix
    answers = {str(number): "SELECT 1" for number in range(COUNT)}
    predictions = _written(
        folder / "answers.jsonl",
        "".join(json.dumps({"id": id_, "predicted_sql": query}) + "\n" for id_, query in answers.items()),
    )
    run = evaluated(cases, predictions)
    reviews = folder / "reviews.jsonl"
    append_reviews(reviews, [review_of(run.evidence[0].case, "gold_wrong", gold="SELECT 1", note="review")])
    stranger = _written(folder / f"mine{suffix}", "review: my notes\n")
    queue = _written(folder / "queue.jsonl", '{"case_id": "1", "review": 2}\n')
    before = {path: path.read_bytes() for path in (cases, predictions, reviews, stranger, queue)}
    (folder / "link.jsonl").symlink_to(reviews)
    for target in (*before, folder / "link.jsonl", folder / "." / "reviews.jsonl"):
        with pytest.raises(InputError, match=r"into another file, for example corrected\."):
            export_reviewed(run, target, cases=cases, reviews=reviews)
    assert {path: path.read_bytes() for path in before} == before
    first = export_reviewed(run, "corrected", cases=cases, reviews=reviews)
    append_reviews(reviews, [review_of(run.evidence[1].case, "gold_wrong", gold="SELECT 2")])
    second = export_reviewed(run, "corrected", cases=cases, reviews=reviews)
    assert (len(first.changes), len(second.changes), first.path) == (1, 2, second.path)


NAMED = {
    "id": "Nr",
    "question": "Frage",
    "gold": "Erwartetes VQL",
    "database": "Datenbank",
    "difficulty": "Schwierigkeit",
    "tags": "Themen",
    "context": "Kontext",
    "answerable": "Beantwortbar",
}
"""A column name that no alias has, for each field of a question set."""


def named_rows(without: str) -> list[dict[str, str]]:
    """Two questions under foreign names, one of the fields under a usual name."""
    held = {"database": "shop", "difficulty": "leicht", "tags": "Umsatz", "context": "Größe", "answerable": "true"}
    rows = []
    for number in range(3):
        own = held | {"id": f"F{number}", "question": f"Wie viele {number}?", "gold": QUERIES[number]}
        rows.append({column if field != without else field: own[field] for field, column in NAMED.items()})
    return rows


def sheet_with_title(rows: Sequence[Question], folder: Path) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(folder / "dev.xlsx") as book:
        book.add_worksheet("Notizen").write_row(0, 0, ["Frage", "Erwartetes VQL"])
        page = book.add_worksheet("Katalog")
        page.write_row(0, 0, ["Testkatalog", "Stand", "Mai"])
        for place, row in enumerate([list(rows[0]), *(list(one.values()) for one in rows)], start=2):
            page.write_row(place, 0, row)
    return folder / "dev.xlsx"


def latin_lines(rows: Sequence[Question], folder: Path) -> Path:
    path = json_lines(rows, folder)
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="latin-1")
    return path


NAMED_LAYOUTS: dict[str, tuple[Callable[[Sequence[Question], Path], Path], dict[str, Any]]] = {
    "json lines": (json_lines, {}),
    "latin": (latin_lines, {"encoding": "latin-1"}),
    "json": (json_list, {}),
    "csv": (comma_separated, {}),
    "xlsx": (workbook, {}),
    "sheet by name": (sheet_with_title, {"sheet": "Katalog", "header_row": 2}),
    "sheet by number": (sheet_with_title, {"sheet": "1", "header_row": 2}),
}


@pytest.mark.parametrize(
    ("usual", "layout", "live"),
    [
        *((usual, "csv", True) for usual in ("id", "question", "gold", "database")),
        *(("none", layout, True) for layout in NAMED_LAYOUTS),
        ("none", "json", False),
    ],
)
def test_a_set_whose_columns_were_named_is_exported_as_it_was_read(
    usual: str, layout: str, live: bool, folder: Path
) -> None:
    rows = named_rows(usual)
    write, reading = NAMED_LAYOUTS[layout]
    source = write(rows, folder)
    fields = FieldNames(**{field: column for field, column in NAMED.items() if field != usual}, **reading)
    files = FileOptions(case_fields=fields)
    asked = {row[NAMED["id"] if usual != "id" else "id"]: "SELECT 5" for row in rows}
    answers: Any = (lambda case: "SELECT 5") if live else asked
    made = evaluated(source, answers, files=files, output=folder / "run")
    append_reviews(folder / "reviews.jsonl", [review_of(made.evidence[1].case, "gold_wrong", gold="SELECT 5")])
    written = export_reviewed(assay.load_run(folder / "run", reviews=False), folder / f"corrected{source.suffix}")
    assert (written.note, written.path.name) == (None, f"corrected{source.suffix}")
    again = evaluated(written.path, answers, files=files)
    assert [one.outcome for one in again.evidence] == ["incorrect", "correct", "incorrect"]
    assert [one.case.difficulty for one in again.evidence] == [one.case.difficulty for one in made.evidence]
