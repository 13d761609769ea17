"""The reference says what the code says: pages made from it are up to date, and every name that it knows is listed."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, get_args

import pytest

import assay
from assay import Case, Prediction, demo, registry
from assay.diagnosis.kinds import CAUSES
from assay.model import Blame, FailureKind, Flag, MetricInfo, NearMissKind
from assay.model.results.result import ExecutionStatus
from assay.model.verdicts.retrieval import RETRIEVAL_METRICS
from assay.model.verdicts.verdict import MATCH_STRENGTHS
from assay.model.witness import WitnessSettings
from assay.runs.store.folder import LOCK, RUN_FILES, RunFile
from assay.scoring.selections.metrics import selection_metrics
from assay.sql.context import read_context

ROOT = Path(__file__).resolve().parents[1]


def test_pages_made_from_the_code_are_up_to_date() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts" / "reference"))
        made = import_module("made_pages")
        stale = made.out_of_date(ROOT, made.made_pages())
    assert stale == [], "run  python scripts/reference"


def test_every_exit_status_is_listed_and_verbs_end_with_no_other() -> None:
    from assay.cli import app

    ended = {app.DONE, 1, app.UNUSABLE_INPUT, app.INTERRUPTED, app.OUR_FAULT, app.BY_CTRL_C}
    for page in (ROOT / "docs" / "reference" / "commands").glob("*.md"):
        part = page.read_text(encoding="utf-8").partition("## Exit status")[2]
        listed = [int(status) for status in re.findall(r"^\| (\d+) \| \S", part, re.M)]
        assert listed == sorted(set(listed)), page.name
        assert set(listed) == ended if page.name == "README.md" else {0, 2} <= set(listed) <= ended, page.name


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_every_metric_is_documented() -> None:
    metrics = {entry.name for entry in distribution("assay").entry_points if entry.group == "assay.metrics"}
    assert {*_metric_parts(), *_metric_rows()} == metrics


def test_the_tables_of_metrics_say_what_the_classes_say() -> None:
    def said(info: MetricInfo) -> list[str]:
        reach = "0 or 1" if info.binary else f"{info.lowest:g} to {info.highest:.4g}"
        place = "" if info.default_place is None else str(info.default_place)
        return [f"`{info.name}`", info.meaning, reach, place, info.guide_column or ""]

    lines = re.findall(r"^\| `\w+` \|.* \|$", _text("reference/metrics.md").partition("## `match`")[0], re.M)
    rows = [row.strip("| ").split("|") for row in lines]
    found = {cells[0].strip(): [cell.strip() for cell in cells] for cells in rows}
    of_queries = [entry.name for entry in distribution("assay").entry_points if entry.group == "assay.metrics"]
    for info in [MetricInfo.of(registry.metric(name)) for name in of_queries]:
        wanted = said(info)
        assert found[wanted[0]] + [""] * (5 - len(found[wanted[0]])) == wanted
    for info in map(MetricInfo.of, selection_metrics(on_data=True)):
        assert found[f"`{info.name}`"] == said(info)[:3]
    table = re.findall(r"^\| `(\w+)` \|", _text("reference/metrics.md").partition("## `match`")[0], re.M)
    assert table[: len(registry.default_metrics())] == list(registry.default_metrics())
    assert sorted(table) == sorted([*of_queries, *(one.name for one in selection_metrics(on_data=True))])


_PARTS = re.compile("Formula (Quirks )?Misleads Example( None)?")
_EXAMPLE = re.compile(r"`([^`]+)` for\s+`([^`]+)`: (\d+(?:\.\d+)?|none)(?:,\s[^.`]*`match` is\s([01]))?")


def _metric_parts() -> dict[str, str]:
    """The text under each heading that is a metric's name."""
    parts = re.split(r"^## (?:`(\w+)`$|.*$)", _text("reference/metrics.md"), flags=re.M)
    return {name: text for name, text in zip(parts[1::2], parts[2::2], strict=True) if name}


def _metric_rows() -> dict[str, str]:
    """The rows of metrics that share a table: a rule or a caution, and an example."""
    text = _text("reference/metrics.md").partition("## `match`")[2].partition("\n## Selections\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+ \| [^|]+) \|$", text, re.M))


def test_every_metric_has_its_formula_misuse_and_example() -> None:
    for name, text in _metric_parts().items():
        assert _PARTS.fullmatch(" ".join(re.findall(r"^- \*\*(\w+):\*\* \S", text, re.M))), name
    for name, text in {**_metric_parts(), **_metric_rows()}.items():
        assert _EXAMPLE.search(text), f"{name}: an example says  `PREDICTION` for `GOLD QUERY`: VALUE"


def test_the_examples_of_metrics_have_the_values_that_are_written(tmp_path: Path) -> None:
    database = f"sqlite:///{demo.build_database(tmp_path).as_posix()}"
    shown = [
        (name, *one) for name, text in {**_metric_parts(), **_metric_rows()}.items() for one in _EXAMPLE.findall(text)
    ]
    of_runs = ("suite_match", "match_after_witnesses")
    of_times = ("ves", "bird_rves")  # asked for here alone: any other right answer would be executed for its time
    plain = [one for one in shown if one[0] not in (*of_runs, *of_times)]
    apart = {name: [one for one in shown if one[0] == name] for name in (*of_runs, *of_times)}
    suite = assay.build_suite(_given(apart["suite_match"])[0], databases=database, workers=1, seconds=60.0)
    more: list[tuple[list[tuple[str, ...]], dict[str, Any]]] = [
        (plain, {"metrics": ["match", *dict.fromkeys(name for name, *_ in plain if name != "match")]}),
        *((apart[name], {"metrics": [name]}) for name in of_times),
        (apart["suite_match"], {"metrics": ["match"], "suite": suite}),
        (apart["match_after_witnesses"], {"metrics": ["match"], "witness": WitnessSettings(seconds=60.0)}),
    ]
    for examples, options in more:
        cases, answers = _given(examples)
        run = assay.evaluate(cases, answers, databases=database, workers=1, **options)
        for evidence, (name, query, gold, value, match) in zip(run.evidence, examples, strict=True):
            values = {score.metric: score.value for score in evidence.scores}
            wanted = None if value == "none" else pytest.approx(float(value), abs=0.0005)
            assert values[name] == wanted, f"{name}: {query} for {gold}"
            assert not match or values["match"] == float(match), f"match: {query} for {gold}"


def _given(examples: list[tuple[str, ...]]) -> tuple[list[Case], list[Prediction]]:
    cases = [
        Case(id=str(place), question=f"No. {place}", golds=(gold,)) for place, (_, _, gold, *_) in enumerate(examples)
    ]
    return cases, [
        _context(case.id, query) if name in RETRIEVAL_METRICS else Prediction(case_id=case.id, query=query)
        for case, (name, query, *_) in zip(cases, examples, strict=True)
    ]


def _context(case_id: str, text: str) -> Prediction:
    context = read_context(text)
    return Prediction(case_id=case_id, context_tables=context.tables, context_columns=context.columns)


def test_what_a_metric_may_say_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", _text("reference/metrics.md").partition("## A metric of your own")[2]))
    assert set(MetricInfo.__struct_fields__) - {"timed"} <= documented


def _first_cells(page: str, *, part: str = "") -> list[str]:
    """The names that a page's tables define, in order."""
    return re.findall(r"^\| `([^`|]+)` \|", _text(page).partition(part)[2] if part else _text(page), re.M)


def test_every_flag_near_miss_failure_and_strength_has_its_line() -> None:
    flags, strengths = _text("reference/flags.md").split("## How sure a match is")
    assert sorted(re.findall(r"^\| `(\w+)` \|", flags, re.M)) == sorted(get_args(Flag))
    assert re.findall(r"`(\w+)`", strengths.partition("strongest first: ")[2].partition(". ")[0]) == list(
        MATCH_STRENGTHS
    )
    assert sorted(_first_cells("reference/near-misses.md")) == sorted(get_args(NearMissKind))
    assert sorted(_first_cells("reference/failures.md")) == sorted(get_args(FailureKind))


def test_whoever_has_to_act_on_a_failure_is_one_of_those_that_can_be_blamed() -> None:
    rows = re.findall(r"^\| `\w+` \| [^|]+ \| ([^|]+) \|", _text("reference/failures.md"), re.M)
    assert len(rows) == len(get_args(FailureKind))
    assert {who for row in rows for who in re.findall(r"\w+", row) if who != "or"} <= set(get_args(Blame))


def test_every_cause_is_listed_with_its_name_category_and_advice() -> None:
    parts = re.split(r"^## (.*)$", _text("reference/causes.md"), flags=re.M)[1:]
    listed = [
        (kind, title, category, advice)
        for category, part in zip(parts[::2], parts[1::2], strict=True)
        for title, kind, advice in re.findall(r"^\| ([^|]+) \(`(\w+)`\) \|.*\| ([^|]+) \|$", part, re.M)
    ]
    assert listed == [(one.kind, one.title, one.category, one.advice) for one in CAUSES.values()]


def test_every_file_and_key_of_a_run_is_listed() -> None:
    page = _text("reference/run-folder.md")
    assert {*RUN_FILES, LOCK} <= set(re.findall(r"`([\w.]+)`", page))
    keys = re.findall(r"^\| `(\w+)` \|", page.partition("## run.json")[2].partition("## journal.jsonl")[0], re.M)
    assert keys == list(RunFile.__struct_fields__)


def test_every_extra_is_listed_with_its_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (`[^|]+`) \| ", _text("reference/installation.md"), re.M)
    listed = {extra: re.findall(r"`([^`]+)`", packages) for extra, packages in rows}
    extras = project["optional-dependencies"]
    assert listed == {extra: extras[extra] for extra in extras if extra not in ("all", "docs", "test", "dev")}
    assert set(extras) <= set(re.findall(r"`(\w+)`", _text("reference/installation.md")))


def test_every_format_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", _text("reference/formats.md")))
    formats = {entry.name for entry in distribution("assay").entry_points if entry.group == "assay.cases"}
    assert formats <= documented


def test_the_reference_of_engines_has_every_method_and_what_execute_returns() -> None:
    page = (ROOT / "docs" / "reference" / "python" / "ports.md").read_text(encoding="utf-8")
    execute = page.partition("### `Engine.execute`")[2].partition("\n### ")[0]
    assert all(f"`{status}`" in execute for status in get_args(ExecutionStatus))
    for name in ("sqlite", "duckdb", "postgresql"):
        engine = registry.load("assay.engines", name)
        methods = {one for kind in engine.__mro__[:-1] for one in vars(kind) if not one.startswith("_")}
        methods = {one for one in methods if callable(getattr(engine, one, None))}
        methods.discard("snapshot")  # SQLite's own, used by nothing else
        unnamed = {one for one in methods if not re.search(rf"\b{one}\b[`(]", page)}
        assert unnamed == set(), name
