"""`assay sdmx` as its user meets it: files, a live assistant, structures, reports, and what goes wrong."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from processes import assay, json_lines, refused, succeeds

from assay import demo, evaluate_selections
from assay.sdmx.structures.known import Structures
from assay.testing import ChatAnswer, ChatEmulator
from assay.testing.chat import query_attachment
from many_cases import each

ROOT = Path(__file__).resolve().parents[2]
IMF = Path(os.environ.get("ASSAY_SHARED_DATA", ROOT.parent / "shared" / "data")) / "imf-sdmx"
KEY = "deployment-key-4711"
needs_lxml = pytest.mark.skipif(
    find_spec("lxml") is None,
    reason="lxml is not installed (pip install 'assay[sdmx]')",
)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled example."""
    folder = tmp_path_factory.mktemp("sdmx")
    for name in ("cases.yaml", "predictions.jsonl", "structures.xml"):
        shutil.copyfile(demo.sdmx_path(name), folder / name)
    return folder


@needs_lxml
def test_the_example_is_scored_kept_and_reported_in_every_format(example: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("xlsx", "html", "md", "junit")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    inputs = [example / "cases.yaml", "-p", example / "predictions.jsonl", "--structures", example / "structures.xml"]
    done = assay("sdmx", *inputs, "-o", tmp_path / "run", "--json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["headline"]["metric"] == "exact_match"
    assert report["aggregates"]["correct"] == 5
    assert report["aggregates"]["selection"]["micro"]["false_positives"] == 4
    assert all(path.stat().st_size > 1000 for path in files.values())
    assert files["xlsx"].read_bytes().startswith(b"PK")

    succeeds("report", tmp_path / "run", "--json", tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["cases"] == report["cases"]
    succeeds("sdmx", *inputs, "-o", tmp_path / "run", "--quiet")
    assert "contains a run with other settings (match_on was 'id_and_name', now 'id')" in refused(
        "sdmx", *inputs, "-o", tmp_path / "run", "--match-on", "id"
    )


@pytest.mark.journey
def test_the_demo_writes_the_example_and_its_reports(tmp_path: Path) -> None:
    pytest.importorskip("lxml", reason="lxml is not installed (pip install 'assay[sdmx]')")
    done = succeeds("demo", "--sdmx", "shown", cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "Exact selections 41.7 % [19.3, 68.0] · 5 of 12 exact · 0 unscored"
    expected = {"cases.yaml", "predictions.jsonl", "structures.xml", "run", "report.html", "report.xlsx"}
    assert {path.name for path in (tmp_path / "shown").iterdir()} == expected


def test_without_structures_names_are_not_compared_and_the_summary_says_so(example: Path) -> None:
    done = succeeds("sdmx", example / "cases.yaml", "-p", example / "predictions.jsonl", "--limit", "1")
    assert "by their codes alone" in " ".join(done.stdout.split())


@pytest.fixture
def assistant() -> Iterator[ChatEmulator]:
    """An assistant that answers as it should, and needs its state back."""

    def query(*countries: str) -> ChatAnswer:
        filters = [
            {"component_code": "INDICATOR", "operator": "in", "values": ["PCPIPCH"]},
            {"component_code": "COUNTRY", "operator": "in", "values": list(countries)},
        ]
        attachment = query_attachment({"urn": "IMF.RES:WEO(1.0.0)", "filters": filters, "metadata": {}})
        return ChatAnswer(content="Here it is.", attachments=(attachment,), state={"countries": list(countries)})

    answers = {
        "What is inflation in Mexico?": query("MEX"),
        "And put Brazil beside it.": query("MEX", "BRA"),
    }
    with ChatEmulator(answers=answers, token=KEY, model="statgpt") as running:
        yield running


def conversation(example: Path, folder: Path) -> Path:
    """The one case of the example that has two questions."""
    text = (example / "cases.yaml").read_text(encoding="utf-8")
    start = text.index("- id: inflation-then-brazil")
    path = folder / "conversation.yaml"
    path.write_text(text[start : text.index("\n- id:", start + 1)], encoding="utf-8")
    return path


def test_a_live_assistant_is_asked_question_by_question_with_what_was_said_before(
    example: Path, tmp_path: Path, assistant: ChatEmulator
) -> None:
    cases = conversation(example, tmp_path)
    command = ["sdmx", cases, "--system", f"chat:{assistant.deployment_url()}", "-o", tmp_path / "run"]
    done = succeeds(*command, "--json", env={"ASSAY_TOKEN": KEY})
    assert json.loads(done.stdout)["aggregates"]["correct"] == 1
    history = [message["role"] for message in assistant.bodies[-1]["messages"]]
    assert history == ["user", "assistant", "user"]
    assert assistant.bodies[-1]["messages"][1]["custom_content"]["state"] == {"countries": ["MEX"]}

    asked = dict(assistant.asked)
    succeeds(*command, env={"ASSAY_TOKEN": KEY})
    rescored = assay(*command, "--rescore", env={"ASSAY_TOKEN": KEY})
    assert rescored.returncode == 0, rescored.stderr
    assert dict(assistant.asked) == asked, "no question is asked twice"
    everything = "".join(path.read_text(errors="replace") for path in (tmp_path / "run").iterdir())
    assert KEY not in everything + done.stdout + done.stderr


def test_a_wrong_key_ends_the_run_with_one_message(example: Path, tmp_path: Path, assistant: ChatEmulator) -> None:
    command = ["sdmx", conversation(example, tmp_path), "--system", f"chat:{assistant.deployment_url()}"]
    done = assay(*command, env={"ASSAY_TOKEN": "another-key"})
    assert done.returncode == 2
    assert "another-key" not in done.stderr
    assert done.stderr.count("\n") == 1


def broken(folder: Path, text: str, name: str = "cases.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


CASE = """\
- id: {id}
  conversation:
  - role: user
    content: Population of Norway?
    target:
      indicator_selection:
      - dataset_id: IMF.RES:WEO
        {dimensions}:
        - dimension_name: COUNTRY
          values:
          - id: NO
"""


@each(
    ("text", "parts"),
    [
        (CASE.format(id="a", dimensions="dimension"), ["line 8", '"dimension"', "dimensions"]),
        (CASE.format(id="a", dimensions="dimensions") * 2, ['"a" occurs twice', "line 1", "line 12"]),
        (CASE.format(id="[a", dimensions="dimensions"), ["line"]),
        ("just text", ["cases.yaml"]),
        ("", ["empty"]),
    ],
)
def test_a_case_file_that_cannot_be_used_is_one_message_with_its_place(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    answers = broken(tmp_path, '{"id": "a", "answer": {"indicator_selection": []}}\n', "answers.jsonl")
    done = assay("sdmx", broken(tmp_path, text), "-p", answers)
    assert done.returncode == 2
    assert done.stderr.startswith("assay: error: ")
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_the_country_no_is_a_country(tmp_path: Path) -> None:
    cases = broken(tmp_path, CASE.format(id="a", dimensions="dimensions"))
    answers = broken(tmp_path, '{"id": "a", "answer": {"urn": "WEO", "filters": [{"component_code": "COUNTRY", '
                     '"operator": "in", "values": ["NO"]}]}}\n', "answers.jsonl")  # fmt: skip
    done = assay("sdmx", cases, "-p", answers, "--json")
    assert json.loads(done.stdout)["aggregates"]["correct"] == 1


@needs_lxml
@pytest.mark.parametrize("content", ["<html><body>no structures</body></html>", "PK not xml at all", "<a>"])
def test_a_file_that_is_no_structure_is_named(example: Path, tmp_path: Path, content: str) -> None:
    path = broken(tmp_path, content, "structures.xml")
    assert str(path) in refused(
        "sdmx", example / "cases.yaml", "-p", example / "predictions.jsonl", "--structures", path
    )


@needs_lxml
def test_a_service_that_is_down_is_one_message(example: Path) -> None:
    inputs = [example / "cases.yaml", "-p", example / "predictions.jsonl"]
    assert "cannot be reached" in refused("sdmx", *inputs, "--structures", "http://127.0.0.1:9/rest")


@needs_lxml
def test_the_credentials_of_a_service_are_in_no_message_and_no_run(example: Path, tmp_path: Path) -> None:
    inputs = [example / "cases.yaml", "-p", example / "predictions.jsonl"]
    done = assay("sdmx", *inputs, "--structures", "http://reader:geheim-4711@127.0.0.1:9/rest", "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "reader:***@127.0.0.1" in done.stderr
    assert "geheim-4711" not in done.stdout + done.stderr
    structures = Structures((), sources=("https://reader:geheim-4711@host/rest", "a/folder"))
    run = evaluate_selections(example / "cases.yaml", example / "predictions.jsonl", structures=structures)
    run.save(tmp_path / "kept")
    assert run.settings.selection is not None
    assert run.settings.selection.structures == ("https://reader:***@host/rest", "a/folder")
    assert "geheim-4711" not in "".join(path.read_text(errors="replace") for path in (tmp_path / "kept").iterdir())


@needs_lxml
@pytest.mark.skipif(not IMF.is_dir(), reason="the IMF's structures are not at hand (ASSAY_SHARED_DATA)")
def test_real_structures_read_keys_name_codes_and_find_invented_ones(tmp_path: Path) -> None:
    target = {
        "indicator_selection": [
            {
                "dataset_id": "IMF.STA:CPI",
                "dimensions": [
                    {"dimension_name": "COUNTRY", "values": [{"id": "MEX", "name": "Mexico"}]},
                    {"dimension_name": "INDEX_TYPE", "values": ["CPI"]},
                    {"dimension_name": "FREQUENCY", "values": [{"id": "A", "name": "Annual"}]},
                ],
            }
        ]
    }
    names = {
        "url": "https://sdmx.example.org/rest/data/IMF.STA,CPI,4.0.0/MEX.CPI...A",
        "invented": "https://sdmx.example.org/rest/data/IMF.STA,CPI,4.0.0/MEX+ATLANTIS.CPI...A",
        "short": "https://sdmx.example.org/rest/data/IMF.STA,CPI,4.0.0/MEX.CPI.A.A.A.A.A",
    }
    cases = [
        {"id": name, "conversation": [{"role": "user", "content": "Prices in Mexico?", "target": target}]}
        for name in names
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    json_lines(tmp_path / "answers.jsonl", [{"id": name, "answer": url} for name, url in names.items()])
    done = succeeds(
        "sdmx", tmp_path / "cases.json", "-p", tmp_path / "answers.jsonl", "--structures", IMF, "--json", cwd=tmp_path
    )
    by_id = {one["case"]["id"]: one for one in json.loads(done.stdout)["cases"]}
    assert by_id["url"]["verdict"]["outcome"] == "correct", by_id["url"]["verdict"]["reason"]
    country = by_id["invented"]["turns"][0]["score"]["dimensions"][0]
    assert [(term["id"], term["note"]) for term in country["false_positives"]] == [("ATLANTIS", "unknown_code")]
    assert by_id["short"]["verdict"]["failure"]["kind"] == "unreadable_answer"
    assert "COUNTRY" in by_id["short"]["verdict"]["reason"]


CASES = """\
- id: quarterly
  conversation:
  - role: user
    content: Prices in Norway?
    target: {indicator_selection: [{dataset_id: X:DATA, dimensions: [
      {dimension_name: AREA, values: [NO]}, {dimension_name: FREQ, values: [A]}]}]}
- id: other
  conversation:
  - role: user
    content: Wages in Sweden?
    target: {indicator_selection: [{dataset_id: X:WAGES, dimensions: [{dimension_name: AREA, values: [SE]}]}]}
"""
OBSERVED = "DATAFLOW,AREA,FREQ,TIME_PERIOD,OBS_VALUE\nX:DATA,NO,A,2020,1\nX:DATA,SE,A,2020,2\nX:WAGES,SE,A,2020,3\n"


@pytest.fixture
def executed(tmp_path: Path) -> list[object]:
    """The options of a small job, its files written: one answer leaves out the frequency, one has another country."""
    (tmp_path / "cases.yaml").write_text(CASES)
    (tmp_path / "data.csv").write_text(OBSERVED)
    answers = [("quarterly", "X:DATA", ["NO"]), ("other", "X:WAGES", ["NO"])]
    json_lines(
        tmp_path / "answers.jsonl",
        [
            {"id": id_, "urn": urn, "filters": [{"componentCode": "AREA", "operator": "in", "values": codes}]}
            for id_, urn, codes in answers
        ],
    )
    return ["sdmx", tmp_path / "cases.yaml", "-p", tmp_path / "answers.jsonl", "-o", tmp_path / "run", "--json"]


def test_data_tell_what_selections_do_not(executed: list[object], tmp_path: Path) -> None:
    done = assay(*executed, "--data", tmp_path / "data.csv", "--min", "observations_match=0.9")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    rates = {one["metric"]: one["rate"]["value"] for one in report["aggregates"]["overall"]["metrics"]}
    assert (rates["exact_match"], rates["observations_match"], rates["data_series_recall"]) == (0.0, 0.5, 0.5)
    reasons = {case["case"]["id"]: case["verdict"]["reason"] for case in report["cases"]}
    assert reasons["quarterly"] == "FREQ: 1 missing (A); executed: the same 1 observation"
    datasets = report["aggregates"]["selection"]["by_dataset"]
    assert [(group["name"], group["cases"]) for group in datasets] == [("X:DATA", 1), ("X:WAGES", 1)]


def test_a_dimension_may_be_ignored_and_a_name_that_nobody_has_is_named(executed: list[object]) -> None:
    done = succeeds(*executed, "--ignore-dimension", "FREQ")
    assert json.loads(done.stdout)["aggregates"]["correct"] == 1
    assert 'did you mean "FREQ"?' in refused(*executed, "--ignore-dimension", "FREQU", "--overwrite")
    other = assay(*executed)
    assert other.returncode == 2
    assert "contains a run with other settings (ignored_dimensions was FREQ, now none)" in other.stderr


def test_a_run_of_other_metrics_is_judged_anew_where_that_is_wished(executed: list[object], tmp_path: Path) -> None:
    succeeds(*executed)
    path = tmp_path / "run" / "run.json"
    written = json.loads(path.read_text())
    before = [name for name in written["settings"]["metrics"] if not name.startswith("series_")]
    written["settings"]["metrics"] = before
    path.write_text(json.dumps(written))
    assert "--rescore" in refused(*executed)
    succeeds(*executed, "--rescore")
    assert json.loads(path.read_text())["settings"]["metrics"] != before


def test_data_that_cannot_be_used_leave_nothing_behind(executed: list[object], tmp_path: Path) -> None:
    assert 'did you mean "data.csv"?' in refused(*executed, "--data", tmp_path / "dato.csv")
    assert not (tmp_path / "run").exists()


def test_what_keeps_observations_from_being_compared_is_said_once_with_how_often(
    executed: list[object], tmp_path: Path
) -> None:
    done = succeeds(*executed, "--data", "http://joe:secret@127.0.0.1:9/rest")
    (note,) = [line for line in done.stderr.splitlines() if "observations_match" in line]
    assert note.startswith("note: observations_match is unscored in 2 cases: ")
    assert "127.0.0.1:9/rest" in note
    assert "refused" in note
    assert "secret" not in done.stderr
    compared = assay(*executed, "--data", tmp_path / "data.csv", "--overwrite")
    assert "observations_match is unscored" not in compared.stderr
