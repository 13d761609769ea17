"""The advice for predictions that were joined to other cases than they repeat: the way that agrees, and its effect."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from assay.api.inputs import FileOptions, read_inputs
from assay.errors import InputError
from assay.model import FieldNames
from many_cases import each

COUNT = 9


def _written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _bird(folder: Path, shuffled: list[int]) -> tuple[Path, Path]:
    """Questions in BIRD's format in any order, and a dictionary keyed by question_id whose keys also fit positions."""
    cases = [
        {"question_id": q, "db_id": f"db{q}", "question": f"How many {q}?", "SQL": f"SELECT {q}"} for q in shuffled
    ]
    answers = {str(q): f"SELECT {q}\t----- bird -----\tdb{q}" for q in range(COUNT)}
    return _written(folder / "dev.json", cases), _written(folder / "predict.json", answers)


def _lines(folder: Path, shuffled: list[int], echo: dict[str, Any]) -> tuple[Path, Path]:
    """Questions with ids, and predictions whose id counts the rows while another column has the questions' ids."""
    cases = [{"id": str(q), "question": f"How many {q}?", "gold": f"SELECT {q}", "db_id": f"db{q}"} for q in shuffled]
    answers = [
        {"case_id": str(n), "ref": str(q), "predicted_sql": f"SELECT {q}", **{k: v.format(q) for k, v in echo.items()}}
        for n, q in enumerate(range(COUNT))
    ]
    for answer, other in zip(answers, [*range(1, COUNT), 0], strict=True):
        answer["case_id"] = str(other)
    return _written(folder / "cases.json", cases), _written(folder / "answers.json", answers)


def _options(message: str) -> FileOptions:
    """The options that a message says to use."""
    words = shlex.split(message.partition("Use ")[2].partition(": with it")[0])
    named = dict(zip(words[::2], words[1::2], strict=True))
    return FileOptions(
        case_fields=FieldNames(id=named.get("--id-column")),
        prediction_fields=FieldNames(id=named.get("--prediction-id-column")),
    )


@each("seed", range(5))
@each("layout", ["bird", "question", "database"])
def test_the_offered_way_joins_each_prediction_to_its_own_case(tmp_path: Path, layout: str, seed: int) -> None:
    shuffled = random.Random(seed).sample(range(COUNT), COUNT)
    echo = {"question": {"question": "How many {}?"}, "database": {"db_id": "db{}"}}
    made = _bird(tmp_path, shuffled) if layout == "bird" else _lines(tmp_path, shuffled, echo[layout])
    with pytest.raises(InputError) as raised:
        read_inputs(*made, FileOptions(), allow_unmatched=False)
    message = str(raised.value)
    assert message.index("Use --prediction-id-column") < message.index("--ignore-questions")
    joined = read_inputs(*made, _options(message), allow_unmatched=False)
    assert [one.query for one in joined.predictions] == [f"SELECT {q}" for q in shuffled]


def test_ignored_questions_that_differ_are_counted(tmp_path: Path) -> None:
    made = _bird(tmp_path, [1, 2, 0, *range(3, COUNT)])
    joining = read_inputs(*made, FileOptions(ignore_questions=True), allow_unmatched=False).joining
    assert joining is not None
    assert joining.questions_differ == 3
