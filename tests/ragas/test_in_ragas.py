"""The adapter: `ragas.evaluate` runs our metrics, where ragas is; elsewhere the import says what is missing."""

from __future__ import annotations

import json
import math
import os
import subprocess
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from tests.ragas import asked

from assay.errors import MissingDependency
from assay.testing import ChatEmulator, judge_by, same_text

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif("ragas" in packages_distributions(), reason="ragas is installed here")
def test_without_ragas_the_import_says_so() -> None:
    with pytest.raises(MissingDependency, match="pip install ragas"):
        import assay.ragas.adapter  # noqa: F401


def test_evaluate_runs_ours_and_hands_its_model_on() -> None:
    python = asked.interpreter()
    if python is None or subprocess.run([python, "-c", "import msgspec, sqlglot"], check=False).returncode:
        pytest.skip("no interpreter has ragas 0.4.3 and what Assay needs: ASSAY_RAGAS_PYTHON may name one")
    with ChatEmulator(answers=judge_by(same_text)) as server:
        done = subprocess.run(
            [python, str(Path(__file__).with_name("in_ragas.py")), server.openai_url],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    names = "data_compare_score(mode=rows)", "data_compare_score(mode=columns)"
    first, second, third = ([row[name] for name in names] for row in found["ours"])
    assert first == [0.5, 0.5]
    assert all(map(math.isnan, second))
    assert third == [1.0, 0.0]
    assert found["theirs"][0] == {names[0]: 0.5}
    assert math.isnan(found["theirs"][1][names[0]])
    assert found["logged"] == [
        'data_compare_score has no score: response: the text is not CSV: a quote (") is opened and never closed'
    ] * len(names)
    assert found["required"] == ["reference", "reference_contexts", "response"]
    for how in ("factory, sync", "factory, async", "langchain"):
        assert found[how] == [{"llm_sql_equivalence_with_reference": score} for score in (1.0, 0.0)], how
    assert found["collections, sync"] == [1.0, 0.0]
    assert [value for value, _ in found["collections, async"]] == [1.0, 0.0]
    assert found["collections, async"][0][1] == "2 of 2 votes say equivalent"
