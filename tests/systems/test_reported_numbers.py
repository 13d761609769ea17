"""Whatever numbers a system reports about itself, its answers are evaluated and every file of the run is whole."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.model import Case, Prediction, TokenUsage, TurnAnswer
from assay.model.cases.measures import read_count, with_read_measures
from assay.model.cases.usage import MOST, read_measure
from assay.runs.store.codec import decode_value, encode_value
from assay.systems.http.complaint import retry_after_s
from many_cases import each
from replying import Request, replying

WILD = {
    "beyond 64 bits": "18446744073709551616",
    "signed 64 bits and one": "9223372036854775808",
    **{text: text for text in ("1e30", "1e308", "1e400", "NaN", "Infinity", "-Infinity", "-3", "-1e30")},
    **{text: text for text in ('"many"', '"1e30"', "true", "null", "[1]", '{"value": "1e30"}')},
    "a thousand digits": "1" + "0" * 1000,
    "too many digits for Python": "1" + "0" * 5000,
}
"""Values as JSON text, none of which is a count, a time, a cost or a confidence."""
_CASES = [Case(id=name, question=f"q{n}q", golds=("SELECT 1 AS a",)) for n, name in enumerate(WILD)]


def _usage(wild: str) -> str:
    return f'{{"input_tokens": {wild}, "prompt_tokens": {wild}, "output_tokens": {wild}, "total_tokens": {wild}}}'


@contextmanager
def _asked(system: str, answer: Callable[[str], str], **settings: Any) -> Iterator[Any]:
    """The system at a server that answers each question with its wild value."""

    def reply(request: Request) -> tuple[int, str]:
        asked = json.dumps(request.body)
        return 200, next(answer(WILD[case.id]) for case in _CASES if case.question in asked)

    with replying(reply) as (url, _):
        yield assay.open_system(system.format(url), **settings)


def _http(wild: str) -> str:
    return f'{{"sql": "SELECT 1 AS a", "usage": {_usage(wild)}, "times": {{"llm": {wild}}}, "sure": {wild}}}'


def _denodo(wild: str) -> str:
    times = "".join(f'"{name}": {wild}, ' for name in ("sql_execution_time", "vector_store_search_time", "llm_time"))
    return f'{{"sql_query": "SELECT 1 AS a", "tokens": {_usage(wild)}, {times}"total_execution_time": {wild}}}'


def _chat(wild: str) -> str:
    return f'{{"choices": [{{"message": {{"content": "SELECT 1 AS a"}}}}], "usage": {_usage(wild)}}}'


def _stream(wild: str) -> str:
    return (
        'data: {"choices": [{"index": 0, "delta": {"content": "SELECT 1 AS a"}}]}\n\n'
        f'data: {{"choices": [], "usage": {_usage(wild)}}}\n\ndata: [DONE]\n\n'
    )


@contextmanager
def _command() -> Iterator[Any]:
    outputs = {
        case.question: f'{{"columns": ["a"], "rows": [[1]], "tokens": {wild}, "total_execution_time": {wild}}}'
        for case, wild in zip(_CASES, WILD.values(), strict=True)
    }
    with TemporaryDirectory() as folder:
        script = Path(folder) / "answer.py"
        script.write_text(f"import sys; print({outputs!r}[sys.argv[1]])", encoding="utf-8")
        yield assay.open_system(f"command:{shlex.quote(sys.executable)} {shlex.quote(str(script))} {{question}}")


def _python(case: Case) -> Prediction:
    value = _python_value(WILD[case.id])
    return Prediction(
        case_id=case.id,
        query="SELECT 1 AS a",
        tokens=TokenUsage(input=value, output=value, total=value),
        timings_s=(("total_execution_time", value), ("llm_time", value)),
        cost_usd=value,
    )


def _python_value(wild: str) -> Any:
    try:
        return json.loads(wild)
    except ValueError:
        return 10**5000


_PATHS = {"tokens_path": "usage", "times_path": "times", "confidence_path": "sure"}
_MODEL = {"model": "m"}
_SYSTEMS: dict[str, Callable[[], Any]] = {
    "http": lambda: _asked("http:{}/ask", _http, query_path="sql", **_PATHS),
    "http, one number": lambda: _asked(
        "http:{}/ask", lambda wild: f'{{"sql": "SELECT 1 AS a", "n": {wild}}}', tokens_path="n", times_path="n"
    ),
    "denodo": lambda: _asked("denodo:{}/answerDataQuestion", _denodo),
    "chat": lambda: _asked("chat:{}/v1", _chat, parameters=_MODEL, prompt="ddl"),
    "chat, streamed": lambda: _asked("chat:{}/v1", _stream, parameters={**_MODEL, "stream": "true"}, prompt="ddl"),
    "command": _command,
    "python": lambda: nullcontext(_python),
    "predictions in memory": lambda: nullcontext(list(map(_python, _CASES))),
}


@pytest.mark.parametrize("kind", _SYSTEMS)
@pytest.mark.filterwarnings("ignore:the answer to case:UserWarning")
def test_no_number_of_an_answer_costs_the_answer(kind: str, make_sqlite: Callable[..., Path], tmp_path: Path) -> None:
    database, folder = f"sqlite:///{make_sqlite('CREATE TABLE t(a)')}", tmp_path / "run"
    with _SYSTEMS[kind]() as system:
        run = assay.evaluate(_CASES, system, databases=database, metrics=["match"], workers=1, output=folder)
    assert {item.case.id: item.outcome for item in run.evidence} == dict.fromkeys(WILD, "correct")
    if kind == "predictions in memory":  # none depends on the system
        for name_of_report in ("run.xlsx", "run.html", "run.md", "out.json"):
            run.report(folder / name_of_report)
    for path in (*folder.glob("*.json"), *folder.glob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        for document in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(document, parse_constant=pytest.fail)
    assert assay.load_run(folder).evidence == run.evidence
    for item in run.evidence:
        assert _reported(item.prediction) <= {"wall_time", "total_execution_time"}, item.case.id
    usage = run.aggregates.usage
    assert usage is None or (usage.total, usage.input, usage.output, usage.cost_usd) == (None,) * 4


def _reported(prediction: Prediction) -> set[str]:
    """The names of all numbers that count as reported; Assay itself measures the time of most answers."""
    assert prediction.confidence is None
    assert prediction.tokens is None
    assert prediction.cost_usd is None
    assert all(0 <= seconds < 600 for _, seconds in prediction.timings_s)
    return {name for name, _ in prediction.timings_s}


_ANY = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**40), max_value=10**40),
    st.floats(),
    st.decimals(),
    st.text(max_size=8),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
    st.binary(max_size=3),
    st.just(10**5000),
    st.just(Decimal("sNaN")),
)


@given(_ANY)
def test_what_is_read_is_a_number_in_bounds_or_nothing(value: Any) -> None:
    number, count = read_measure(value), read_count(value)
    assert number is None or (type(number) is float and math.isfinite(number) and 0 <= number <= MOST)
    assert count is None or (type(count) is int and count == number)
    if type(value) in (int, float) and 0 <= value <= MOST:
        assert number == value


@given(st.lists(_ANY, min_size=8, max_size=8), st.sampled_from(["pairs", "mapping", "rubbish"]))
def test_an_answer_with_any_numbers_can_be_kept_and_read_again(values: list[Any], shape: str) -> None:
    pairs = [("a", values[0]), ("b", values[1])]
    timings: Any = {"pairs": tuple(pairs), "mapping": dict(pairs), "rubbish": values}[shape]
    usage = TokenUsage(input=values[2], output=values[3], total=values[4])
    prediction = with_read_measures(
        Prediction(
            case_id="1",
            query="SELECT 1",
            timings_s=timings,
            tokens=usage if values[7] else values[7],
            cost_usd=values[5],
            turns=(TurnAnswer(latency_s=values[6], tokens=usage),),
        )
    )
    assert decode_value(encode_value(prediction), Prediction) == prediction


@each(
    "header",
    [
        *("1e400", "-1", "nan", "inf", "9" * 5000, "soon", "", "1.5.5"),
        *("Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 99 Jan 2030 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +2300"),
        *("Mon, 01 Jan 2030 00:00:00 +99999999999999999999", f"Mon, 01 Jan 2030 {'9' * 5000}:00:00 GMT"),
    ],
)
def test_a_wait_that_a_server_asks_for_is_a_number_of_seconds_or_nothing(header: str) -> None:
    wait_s = retry_after_s(header)
    assert wait_s is None or (math.isfinite(wait_s) and wait_s >= 0)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (0.5, 0.5),
        (1, 1.0),
        ("0.25", 0.25),
        *((wild, None) for wild in (10**5000, 1e30, math.nan, math.inf, -0.1, 1.1, True, "sure", [1], {"a": 1})),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:a confidence that is not a number")
def test_a_confidence_of_ones_own_code_is_read_as_that_of_a_server(given: Any, read: float | None) -> None:
    assert Prediction(case_id="1", query="SELECT 1", confidence=given).confidence == read


def test_rows_of_ones_own_code_may_have_integers_of_any_size(tmp_path: Path) -> None:
    cells = [10**k for k in (15, 19, 30, 3999, 4000, 4299, 4300, 5000)]
    cells += [-cell for cell in cells]
    cases = [{"id": str(n), "question": str(n), "gold_sql": "SELECT 1"} for n in range(len(cells))]
    run = assay.evaluate(
        cases, lambda question: [[cells[int(question)]]], databases="sqlite://", metrics=["match"], workers=1
    )
    assert {one.outcome for one in run.evidence} == {"incorrect"}
