"""`assay estimate` as a command: questions and answers without gold, signals, a judge, a queue, labels, two systems."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace
from processes import assay, json_lines, refused, sqlite_file, succeeds
from rich.console import Console

import assay as package
from assay import Case, Prediction, demo
from assay.errors import InputError, UsageError
from assay.model.verdicts.review import Review
from assay.reports.console.printing import print_estimate
from assay.runs.estimates.drawing import QueuedAnswer, read_queue, write_queue
from assay.runs.reviews.file import append_reviews, new_id, now, read_reviews
from assay.testing import ChatEmulator
from assay.testing.chat import Messages, last_question
from many_cases import each

QUERIES = (
    "SELECT COUNT(*) FROM customers",
    "SELECT name FROM customers",
    "SELECT nothing FROM customers",
    "SELECT name FROM customers WHERE name = 'nobody at all'",
    "SELECT MAX(id) FROM orders WHERE status = 'none'",
)


def records(count: int = 60, *, other: bool = False) -> list[dict[str, Any]]:
    """Questions with answers: of every five, one fails, one is empty and one is computed over nothing."""
    return [
        {
            "id": f"q{place}",
            "question": f"What is number {place}?",
            "predicted_sql": f"SELECT -1 - {place}" if other and place % 4 == 0 else QUERIES[place % 5],
        }
        for place in range(count)
    ]


def is_right(case_id: str, query: str | None) -> bool:
    return query in QUERIES[:2] or (query == QUERIES[3] and int(case_id[1:]) % 10 == 3)


def decided(line: QueuedAnswer, *, right: bool) -> Review:
    """A decision about an answer of a queue."""
    return Review(
        id=new_id(),
        case_id=line.case_id,
        decision="accept" if right else "reject",
        outcome="correct" if right else "incorrect",
        query=line.query,
        reviewer="ana",
        at=now(),
        question_hash=line.question_hash,
        draw=line.draw,
    )


def label(queue: Path, reviews: Path) -> None:
    """Decide about a queue's answers."""
    append_reviews(reviews, [decided(line, right=is_right(line.case_id, line.query)) for line in read_queue(queue)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database, answers of two systems, a run of the first with a queue of 30, and their labels."""
    folder = tmp_path_factory.mktemp("estimated")
    demo.build_database(folder)
    json_lines(folder / "answers.jsonl", records())
    json_lines(folder / "other.jsonl", records(other=True))
    succeeds("estimate", "answers.jsonl", *DATABASE, "-o", "run", "--next", "30", "--beside", "other.jsonl", cwd=folder)
    label(folder / "run" / "queue.jsonl", folder / "labels.jsonl")
    return folder


DATABASE = ("--db", "sqlite:///shop.sqlite", "--workers", "1")


def test_signals_are_computed_of_all_answers(made: Path) -> None:
    lines = [json.loads(line) for line in (made / "run" / "signals.jsonl").read_text().splitlines()]
    names = lines[0]["signals"]
    assert names == ["executes", "not empty", "no lint finding"]
    by_case = {line["case_id"]: dict(zip(names, line["signals"], strict=True)) for line in lines[1:]}
    assert [by_case[f"q{place}"]["executes"] for place in range(5)] == [1, 1, 0, 1, 1]
    assert [by_case[f"q{place}"]["not empty"] for place in range(5)] == [1, 1, 0, 0, 0]


def test_a_queue_is_labelled_and_estimated(made: Path) -> None:
    done = succeeds("estimate", "run", "--reviews", "labels.jsonl", cwd=made)
    truth = sum(is_right(one["id"], one["predicted_sql"]) for one in records()) / len(records())
    assert "30 of 60 answers" in done.stdout
    markdown = succeeds("estimate", "run", "--reviews", "labels.jsonl", "--md", "-", cwd=made).stdout
    assert markdown.startswith("## Accuracy of run, without gold queries")
    assert "### Strata" in markdown
    assert len(done.stdout.splitlines()) <= 30
    found = json.loads(assay("estimate", "run", "--reviews", "labels.jsonl", "--json", cwd=made).stdout)
    assert found["format"] == "assay-estimate"
    assert found["method"] == "strata"
    assert found["interval"]["low"] <= truth <= found["interval"]["high"]
    assert found["narrower"] is not None


def test_the_next_round_keeps_the_strata(made: Path, tmp_path: Path) -> None:
    queue = tmp_path / "next.jsonl"
    done = succeeds("estimate", "run", "--reviews", "labels.jsonl", "--next", "10", "--queue", str(queue), cwd=made)
    assert "expect an interval" in done.stdout
    assert "assay review run --queue" in done.stderr
    first, second = read_queue(made / "run" / "queue.jsonl"), read_queue(queue)
    assert {line.draw.stratum for line in second} <= {line.draw.stratum for line in first}
    assert not {line.case_id for line in first} & {line.case_id for line in second}


def test_the_estimate_fits_a_terminal_of_80_columns(made: Path) -> None:
    lines = [json.loads(line) for line in (made / "labels.jsonl").read_text().splitlines()]
    found = package.estimate(made / "run", [convert(line, Review) for line in lines[:20]])
    file = StringIO()
    print_estimate(found, console=Console(file=file, force_terminal=True, width=80, color_system=None, highlight=False))
    shown = file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in shown)
    assert len(shown) <= 45
    assert "with fewer than 30" in file.getvalue()


def test_two_systems_are_compared_by_labels_of_what_differs(made: Path, tmp_path: Path) -> None:
    queue = tmp_path / "pairs.jsonl"
    done = succeeds("estimate", "run", "--compare", "other.jsonl", "--next", "12", "--queue", str(queue), cwd=made)
    assert len(read_queue(queue)) == 24
    label(queue, tmp_path / "labels.jsonl")
    done = succeeds(
        "estimate", "run", "--compare", "other.jsonl", "--reviews", str(tmp_path / "labels.jsonl"), "--json", cwd=made
    )
    found = json.loads(done.stdout)
    assert found["labels"] == 12
    assert found["different"] == 15
    assert found["value"] < 0
    assert found["interval"]["high"] < 0


_SORTED = ("price, name", "price", "price DESC", "quantity DESC, name", "quantity", "name", "quantity, price")
_FORMS = (
    "SELECT name FROM items ORDER BY {key} LIMIT {rows}",
    "SELECT name, price FROM items ORDER BY {key} LIMIT {rows}",
    "SELECT price, name FROM items ORDER BY {key} LIMIT {rows}",
    "SELECT name FROM items ORDER BY {key}",
    "SELECT name FROM items",
    "SELECT name FROM (SELECT * FROM items ORDER BY {key}) AS sorted",
    "SELECT DISTINCT price FROM items ORDER BY price LIMIT {rows}",
    "SELECT price / 3.0 FROM items ORDER BY {key}",
    "SELECT price * (1.0 / 3) FROM items ORDER BY {key}",
    "SELECT nothing FROM items",
)


def test_a_census_gives_the_exact_difference_in_both_directions(tmp_path: Path) -> None:
    """Queries with ties, cuts and orders, and gold's verdict as the label: equal results have the same verdict.

    The second system's ties do not make other answers equal, and the labels of one direction serve for the other.
    """
    generator = random.Random(11)
    rows = [(f"item {generator.random()}", generator.randrange(4), generator.randrange(3)) for _ in range(12)]
    script = "CREATE TABLE items (name TEXT, price INTEGER, quantity INTEGER); INSERT INTO items VALUES "
    sqlite_file(tmp_path / "items.sqlite", script + ", ".join(map(str, rows)))

    def written() -> str:
        return generator.choice(_FORMS).format(key=generator.choice(_SORTED), rows=generator.randrange(1, 4))

    cases = [{"id": f"q{n}", "question": f"Number {n}?", "gold_sql": written()} for n in range(300)]
    answers = [
        [
            {"id": one["id"], "predicted_sql": one["gold_sql"] if generator.random() < 0.3 else written()}
            for one in cases
        ]
        for _ in range(2)
    ]
    url = f"sqlite:///{tmp_path / 'items.sqlite'}"
    first, second = (package.evaluate(cases, own, databases=url, workers=1, metrics=["match"]) for own in answers)
    outcomes = {
        (one.case.id, one.prediction.query): one.outcome == "correct" for run in (first, second) for one in run.evidence
    }
    truth = sum(
        outcomes[two["id"], two["predicted_sql"]] - outcomes[one["id"], one["predicted_sql"]]
        for one, two in zip(*answers, strict=True)
    )
    assert truth
    drawn = package.estimate_difference(first, second, workers=1, more=300, queue=tmp_path / "queue.jsonl")
    assert drawn.different < 300
    queue = read_queue(tmp_path / "queue.jsonl")
    reviews = [decided(line, right=outcomes[line.case_id, line.query or ""]) for line in queue]
    forth = package.estimate_difference(first, second, reviews, workers=1)
    back = package.estimate_difference(second, first, reviews, workers=1)
    assert forth.value is not None
    assert forth.value == pytest.approx(truth / 300)
    assert back.value == pytest.approx(-truth / 300)
    assert (forth.different, forth.frame, forth.gains, forth.losses) == (
        back.different,
        back.frame,
        back.losses,
        back.gains,
    )


def test_a_comparison_with_itself_is_said(made: Path) -> None:
    done = succeeds("estimate", "run", "--compare", "run", cwd=made)
    assert "compared with themselves" in " ".join(done.stdout.split())
    done = assay("estimate", "run", "--compare", "run", "--next", "5", cwd=made)
    assert done.returncode == 2
    assert "nothing to label" in " ".join(done.stderr.split())


def test_a_judge_gives_its_opinion_of_each_answer(made: Path) -> None:
    """A later call has the opinions only if it names the judge, which is then not asked again."""
    asked_of_judge = []

    def answer(messages: Messages) -> str:
        asked = last_question(messages)
        asked_of_judge.append(asked)
        assert "question" in asked
        right = "COUNT(*)" in asked or "SELECT name FROM customers\n" in asked
        return json.dumps({"query_1": "rows", "difference": "" if right else "wrong", "correct": right})

    with ChatEmulator(answers=answer) as server:
        judge = ("--judge", f"chat:{server.openai_url}", "--param", "model=any")
        done = succeeds("estimate", "answers.jsonl", *DATABASE, *judge, "-o", "judged", "--json", cwd=made)
        number = len(asked_of_judge)
        again = succeeds("estimate", "judged", *judge, "--json", cwd=made)
    found = json.loads(done.stdout)
    assert found["judge"] == {"says": 0.4, "opinions": 60, "bias": None}
    assert json.loads(again.stdout)["judge"] == found["judge"]
    assert len(asked_of_judge) == number
    assert json.loads(assay("estimate", "judged", "--json", cwd=made).stdout)["judge"] is None


def test_signals_do_not_depend_on_earlier_calls(made: Path) -> None:
    """Neither other answers nor a judge that an earlier call named count in a later one."""
    run = made / "asked"
    package.estimate(made / "answers.jsonl", databases=f"sqlite:///{made / 'shop.sqlite'}", output=run, workers=1)
    bare = package.estimate(run)
    opinions = {f"q{place}": place % 2 == 0 for place in range(60)}
    named = package.estimate(run, judge=opinions, beside=[made / "other.jsonl"], workers=1, more=40)
    assert {signal.name for signal in named.signals} > {signal.name for signal in bare.signals}
    assert next(one.share for one in named.signals if one.name == "agrees with other") == 0.75
    later = package.estimate(run)
    assert later.judge is None
    assert later.signals == bare.signals


def test_opinions_and_labels_may_come_from_python(made: Path) -> None:
    opinions = {f"q{place}": place % 5 < 2 for place in range(60)}
    url = f"sqlite:///{made / 'shop.sqlite'}"
    first = package.estimate(records(), databases=url, judge=opinions, workers=1, more=30, queue=made / "python.jsonl")
    assert first.drawn is not None
    assert first.judge is not None
    assert first.judge.says == 0.4
    label(made / "python.jsonl", made / "python-labels.jsonl")
    found = package.estimate(
        records(), made / "python-labels.jsonl", databases=url, judge=opinions, workers=1, target="future"
    )
    assert found.interval is not None
    assert found.judge is not None
    assert found.judge.bias is not None
    assert found.judge.bias < 0
    with pytest.raises(InputError, match="not the id of a case"):
        package.estimate(records(), databases=url, judge={"q61": True}, workers=1)
    with pytest.raises(UsageError, match="databases="):
        package.estimate(records())
    for opinion in ("yes", "1", 2, -1, float("nan"), [True]):
        with pytest.raises(UsageError, match="opinion of q1 is"):
            package.estimate(records(), databases=url, judge={"q1": opinion}, workers=1)  # type: ignore[dict-item]


@each(
    ("arguments", "said"),
    [
        (("missing.jsonl", *DATABASE), "does not exist"),
        (("answers.jsonl",), "--db URL"),
        (("answers.jsonl", *DATABASE, "--next", "5"), "--output RUN"),
        (("run", "-o", "another"), "is a run already"),
        (("run", "--target", "past"), "'frame' or 'future'"),
        (("run", "--unlabelled", "guess"), "'refuse'"),
        (("run", "--queue", "q.jsonl"), "--next"),
        (("run", "--compare", "other.jsonl", "--judge", "m"), "--compare takes no signals"),
        (("run", "--compare", "other.jsonl"), "--next"),
        (("run", "--compare", "short.jsonl"), "no answer to 1 of 60 questions"),
        (("run", "--compare", "asked.jsonl"), "another question under the id 'q0'"),
        (("run", "--reviews", "missing.jsonl"), "cannot be read"),
        (("run", "--reviews", "chosen.jsonl"), "--declare-random"),
        (("run", "--reviews", "strangers.jsonl"), "no review is about one of these questions"),
        (("changed.jsonl", *DATABASE, "--reviews", "labels.jsonl"), "came from other answers"),
        (("run", "--confidence", "95"), "between 0 and 1"),
        (("nogold.csv", *DATABASE), "the predicted query"),
    ],
)
def test_what_cannot_be_used_is_said(made: Path, arguments: Sequence[str], said: str) -> None:
    json_lines(made / "short.jsonl", records(59))
    first, *others = records()
    json_lines(made / "asked.jsonl", [{**first, "question": "Another?"}, *others])
    json_lines(made / "changed.jsonl", [{**first, "predicted_sql": "SELECT 7"}, *others])
    (made / "nogold.csv").write_text("id,question\n1,Why?\n")
    lines = [json.loads(line) for line in (made / "labels.jsonl").read_text().splitlines()]
    json_lines(made / "chosen.jsonl", [{**line, "draw": None} for line in lines])
    json_lines(made / "strangers.jsonl", [{**line, "case_id": f"other {line['case_id']}"} for line in lines])
    done = assay("estimate", *arguments, cwd=made)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_labels_that_are_declared_random_count(made: Path) -> None:
    lines = [json.loads(line) for line in (made / "labels.jsonl").read_text().splitlines()]
    json_lines(made / "declared.jsonl", [{**line, "draw": None} for line in lines])
    done = succeeds("estimate", "run", "--reviews", "declared.jsonl", "--declare-random", cwd=made)
    assert "because you declare it" in done.stdout
    assert "cells" in done.stdout.lower()


class Wavering:
    """A live system that answers every second question differently when it is asked again."""

    name = "wavering"

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def describe(self) -> str:
        return "wavering"

    def answer(self, case: Case) -> Prediction:
        place, times = int(case.id), self.asked.get(case.id, 0)
        self.asked[case.id] = times + 1
        return Prediction(case_id=case.id, query=f"SELECT {place + (times if place % 2 else 0)}", confidence=0.75)

    def close(self) -> None:
        pass


def test_a_run_says_more_by_its_gold_its_repeats_and_its_confidence(tmp_path: Path) -> None:
    url = f"sqlite:///{demo.build_database(tmp_path)}"
    cases = [Case(id=str(place), question=f"Number {place}?", golds=(f"SELECT {place % 4}",)) for place in range(8)]
    run = package.evaluate(cases, Wavering(), databases=url, metrics=["match"], repeats=2, workers=1)
    signals = {one.name: one for one in package.estimate(run, databases=url, workers=1).signals}
    assert signals["gold query"].share == 0.5
    assert signals["repeats agree"].share == 0.5
    assert signals["confidence"].share == 1.0
    assert signals["executes"].known == 8


def test_a_queue_is_labelled_by_assay_review(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    (tmp_path / "answers.jsonl").write_bytes((made / "answers.jsonl").read_bytes())
    queue = read_queue(tmp_path / "run" / "queue.jsonl")
    common = ("--reviewer", "ana", "--reviews", "reviews.jsonl")
    for line, decision in zip(queue, ("--accept", "--reject", "--unsure"), strict=False):
        succeeds("review", "run", line.case_id, decision, "--queue", "run/queue.jsonl", *common, cwd=tmp_path)
    written = read_reviews(tmp_path / "reviews.jsonl")
    assert [one.draw for one in written] == [line.draw for line in queue[:3]]
    found = package.estimate(tmp_path / "run", written, unlabelled="bounds")
    assert (found.labels, found.right, found.unsure) == (2, 1, 1)
    other = next(one["id"] for one in records() if one["id"] not in {line.case_id for line in queue})
    assert assay("review", "run", other, "--accept", *common, cwd=tmp_path).returncode == 0
    assert read_reviews(tmp_path / "reviews.jsonl")[-1].draw is None
    write_queue(tmp_path / "strange.jsonl", [replace(line, query="SELECT 'other'") for line in queue])
    assert "drawn from other answers" in refused(
        "review", "run", other, "--accept", "--queue", "strange.jsonl", *common, cwd=tmp_path
    )
