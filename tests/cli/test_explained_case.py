"""`assay explain` says which case is meant by the number of a question or of a row."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import assay as command
from processes import sqlite_file

import assay


@pytest.mark.parametrize(
    ("ids", "asked", "said"),
    [
        (None, "3", "has no case '3': question 3 is case '2'"),
        (None, "question 3", "question 3 is case '2'"),
        (None, "Q3", "question 3 is case '2'"),
        (None, "line 3", "line 3 of the question set is case '1'"),
        (None, "2", "question 3 of the question set: ids count from 0; question 2 is case 1"),
        (None, "4", "has no case '4'\n"),
        (("a7", "a8", "b1"), "2", "has no case '2': question 2 is case 'a8'"),
        (("a7", "a8", "b1"), "line 2", "line 2 of the question set is case 'a7'"),
        (("alpha7", "beta8", "b1"), "alpha9", "did you mean 'alpha7'?"),
    ],
)
def test_the_number_of_a_question_names_its_case(
    tmp_path: Path, ids: tuple[str, ...] | None, asked: str, said: str
) -> None:
    header = "question,gold_sql" if ids is None else "id,question,gold_sql"
    lines = [f"{'' if ids is None else f'{ids[row]},'}What is {row}?,SELECT {row}" for row in range(3)]
    (tmp_path / "cases.csv").write_text("\n".join((header, *lines)), encoding="utf-8")
    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE products (id INTEGER)")
    predictions = dict.fromkeys(ids or ("0", "1", "2"), "SELECT 0")
    assay.evaluate(
        tmp_path / "cases.csv", predictions, databases=f"sqlite:///{tmp_path}/shop.sqlite", output=tmp_path / "run"
    )
    done = command("explain", tmp_path / "run", asked)
    assert said in done.stdout + done.stderr
