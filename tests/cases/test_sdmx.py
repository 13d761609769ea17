"""SDMX case files: what is read from them, and what is said of those that cannot be used."""

from __future__ import annotations

import gc
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusing import assert_refused
from ruamel.yaml import YAML

from assay.cases import load_cases, recognise
from assay.cases.sdmx.format import SdmxFormat
from assay.cases.text.yaml import MOST_CHARACTERS
from assay.errors import CaseFileError
from assay.model import DatasetSelection, DimensionSelection, FieldNames, Selection, Term, TimeRange, Turn

MEXICO = """\
id: c48d7624-d376-48ca-b2d8-386999befb45
name: could_you_give_me_the_population_numbers_for_mexico
tags:
- imf
- weo
comments: ''
conversation:
- role: user
  content: Could you give me the population numbers for Mexico?
  target:
    indicator_selection:
    - dataset_id: IMF.RES:WEO
      dimensions:
      - dimension_name: INDICATOR
        values:
        - id: LP
          name: Population, Persons for countries / Index for country groups
      - dimension_name: COUNTRY
        values:
        - id: MEX
          name: Mexico
"""
"""The method's sample case, as its document has it."""


def read(path):
    return SdmxFormat().cases(path, FieldNames())


def in_list(*documents, indent=""):
    """Documents as the entries of one list."""
    return "".join(
        indent + ("- " if number == 0 else "  ") + line + "\n"
        for document in documents
        for number, line in enumerate(document.splitlines())
    )


def with_target(target, *, id="a"):
    """A case of one question with this target, in flow style below ``target:``."""
    return f"id: {id}\nconversation:\n- role: user\n  content: q\n  target: {target}\n"


def with_values(values):
    return with_target(
        f"{{indicator_selection: [{{dataset_id: D, dimensions: [{{dimension_name: X, values: {values}}}]}}]}}"
    )


def only_dataset(case):
    return case.turns[0].targets[0].datasets[0]


def test_the_methods_sample_case(write):
    (case,) = read(write("mexico.yaml", MEXICO))
    assert case.id == "c48d7624-d376-48ca-b2d8-386999befb45"
    assert case.name == "could_you_give_me_the_population_numbers_for_mexico"
    assert (case.tags, case.comments, case.golds, case.database) == (("imf", "weo"), None, (), None)
    assert case.question == "Could you give me the population numbers for Mexico?"
    assert case.origin == "mexico.yaml, line 1"
    name = "Population, Persons for countries / Index for country groups"
    assert case.turns == (
        Turn(
            question=case.question,
            targets=(
                Selection(
                    datasets=(
                        DatasetSelection(
                            dataset="IMF.RES:WEO",
                            dimensions=(
                                DimensionSelection(dimension="INDICATOR", terms=(Term(id="LP", name=name),)),
                                DimensionSelection(dimension="COUNTRY", terms=(Term(id="MEX", name="Mexico"),)),
                            ),
                        ),
                    )
                ),
            ),
        ),
    )


OTHER = MEXICO.replace("c48d7624-d376-48ca-b2d8-386999befb45", "other")


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("one.yaml", in_list(MEXICO, OTHER), (1, 22)),
        ("one.yml", MEXICO + "---\n" + OTHER, (1, 23)),
        ("one.yaml", "# ours\n---\n" + MEXICO + "---\n" + OTHER + "---\n", (3, 25)),
        ("one.yaml", "cases:\n" + in_list(MEXICO, OTHER), (2, 23)),
        ("one.yaml", "# ours\ncases:\n\n" + in_list(MEXICO, OTHER, indent="  "), (4, 25)),
        ("one.yaml", in_list(MEXICO, OTHER).replace("\n", "\r\n"), (1, 22)),
        ("one.yaml", "\ufeff" + in_list(MEXICO, OTHER), (1, 22)),
        ("one.yaml", "%YAML 1.2\n---\n" + in_list(MEXICO, OTHER), (3, 24)),
    ],
)
def test_several_cases_in_a_file(name, content, lines, write):
    cases = read(write(name, content))
    assert [case.id for case in cases] == ["c48d7624-d376-48ca-b2d8-386999befb45", "other"]
    assert cases[0].turns == cases[1].turns
    assert [case.origin for case in cases] == [f"{name}, line {line}" for line in lines]


def test_the_same_shape_in_json(write):
    (case,) = read(write("one.yaml", MEXICO))
    record = YAML(typ="safe").load(MEXICO)
    other = {**record, "id": "other"}
    for name, content in [
        ("one.json", json.dumps([record, other])),
        ("one.json", json.dumps({"cases": [record, other]}, indent=1)),
        ("one.jsonl", json.dumps(record) + "\n\n" + json.dumps(other) + "\n"),
    ]:
        first, second = read(write(name, content))
        assert first.turns == second.turns == case.turns
        assert (first.id, first.tags, second.id) == (case.id, case.tags, "other")


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path, formats):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "b" / "two.yml").write_text(with_target("{indicator_selection: []}", id="two"))
    (tmp_path / "a.yaml").write_text(with_target("{indicator_selection: []}", id="one"))
    (tmp_path / ".hidden" / "c.yaml").write_text("broken: [")
    (tmp_path / "notes.txt").write_text("not a case")
    cases = load_cases(tmp_path, formats=[*formats, SdmxFormat()])
    assert [(case.id, case.origin) for case in cases] == [("one", "a.yaml, line 1"), ("two", "b/two.yml, line 1")]
    (tmp_path / "c.yaml").write_text(with_target("{indicator_selection: []}", id="two"))
    with pytest.raises(CaseFileError, match=r'"two" occurs twice: in b/two.yml, line 1 and in c.yaml, line 1'):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.yaml", MEXICO, "sdmx"),
        ("a.jsonl", '{"conversation": [{"role": "user"}]}', "sdmx"),
        ("a.json", '[{"id": 1, "indicator_selection": []}]', "sdmx"),
        ("a.yaml", "- question: a\n  gold: x\n", "yaml"),
        ("a.json", '[{"question": "a", "gold": "x"}]', "json"),
    ],
)
def test_files_are_told_by_a_look_inside(name, content, format, write, formats):
    assert recognise(write(name, content), [*formats, SdmxFormat()]).name == format


@pytest.mark.parametrize(
    ("written", "code"),
    [
        *[("NO", "NO"), ("1.10", "1.10"), ("007", "007"), ("true", "true"), ("null", "null"), ("yes", "yes")],
        *[("'null'", "null"), ('"1.10"', "1.10"), ("0x1F", "0x1F"), ("1_000", "1_000"), ("2015-03", "2015-03")],
        *[("1e5", "1e5"), ("2001-01-01", "2001-01-01"), (".inf", ".inf"), ("12:30:45", "12:30:45"), ("-1", "-1")],
    ],
)
def test_a_code_is_the_text_that_was_written(written, code, write):
    plain = MEXICO.replace("id: MEX", f"id: {written}")
    flow = with_values(f"[{{id: {written}, name: Mexico}}]")
    bare = with_values(f"[{written}]")
    assert only_dataset(read(write("a.yaml", plain))[0]).dimensions[1].terms == (Term(id=code, name="Mexico"),)
    assert only_dataset(read(write("a.yaml", flow))[0]).dimensions[0].terms == (Term(id=code, name="Mexico"),)
    assert only_dataset(read(write("a.yaml", bare))[0]).dimensions[0].terms == (Term(id=code),)


def test_numbers_in_json_keep_their_digits(write):
    record = (
        '{"id": 7, "conversation": [{"role": "user", "content": "q", "target": {"indicator_selection": [{"dataset_id":'
        ' "D", "dimensions": [{"dimension_name": "X", "values": [{"id": 1.10}, 2.0, 30, true]}]}]}}]}'
    )
    for name in ("a.json", "a.jsonl"):
        (case,) = read(write(name, record))
        assert case.id == "7"
        assert [term.id for term in only_dataset(case).dimensions[0].terms] == ["1.10", "2.0", "30", "true"]


@pytest.mark.parametrize(
    ("values", "terms", "everything"),
    [
        ("'*'", (), True),
        ("['*']", (), True),
        ("[]", (), False),
        ("[A, A, B]", (Term(id="A"), Term(id="B")), False),
        ("[{id: A, name: }, {id: A, name: a}, {id: A, name: ~}]", (Term(id="A"), Term(id="A", name="a")), False),
        ("[{id: A, name: NO}, {id: A, name: 'null'}]", (Term(id="A", name="NO"), Term(id="A", name="null")), False),
    ],
)
def test_values_of_a_dimension(values, terms, everything, write):
    (dimension,) = only_dataset(read(write("a.yaml", with_values(values)))[0]).dimensions
    assert dimension == DimensionSelection(dimension="X", terms=terms, everything=everything)


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("", None),
        (", time_range: ", ()),
        (", time_range: {}", ()),
        (", time_range: []", ()),
        (", time_range: {start: 2015, end: 2015-03}", (TimeRange(start="2015", end="2015-03"),)),
        (", time_range: {start: 2015, end: null}", (TimeRange(start="2015"),)),
        (", time_range: [{end: 2015}, {start: 2020-Q1}]", (TimeRange(end="2015"), TimeRange(start="2020-Q1"))),
    ],
)
def test_the_time_range_of_a_dataset(written, time, write):
    (case,) = read(write("a.yaml", with_target(f"{{indicator_selection: [{{dataset_id: D{written}}}]}}")))
    assert only_dataset(case) == DatasetSelection(dataset="D", time=time)


def test_several_turns_and_several_acceptable_targets(write):
    text = """\
name: only_a_name
tags: [imf, 2024]
difficulty: hard
comments: 'two # lines'
conversation:
- role: system
  content: ''
- {role: user, content: First?, targets: [{indicator_selection: []}, {indicator_selection: [{dataset_id: D}]}]}
- role: assistant
- role: user
  content: Second?
"""
    (case,) = read(write("a.yaml", text))
    assert (case.id, case.name, case.tags, case.difficulty) == ("only_a_name", "only_a_name", ("imf", "2024"), "hard")
    assert case.comments == "two # lines"
    assert case.question == "1. First?\n2. Second?"
    assert case.turns == (
        Turn(question="First?", targets=(Selection(), Selection(datasets=(DatasetSelection(dataset="D"),)))),
        Turn(question="Second?"),
    )


TARGET = "{indicator_selection: [{dataset_id: D}]}"

BAD = [
    # content, place, what the message says
    (MEXICO.replace("tags:", "tagz:"), "line 3, column 1", ['unknown key "tagz"', 'did you mean "tags"?']),
    (
        MEXICO.replace("dimension_name: COUNTRY", "dimension: COUNTRY"),
        "line 18, column 9",
        [
            '"dimension"',
            'did you mean "dimension_name"?',
            "conversation[0].target.indicator_selection[0].dimensions[1]",
        ],
    ),
    (MEXICO.replace("        - id: MEX", "        - code: MEX"), "line 20, column 11", ['key "code"', "id, name"]),
    (MEXICO.replace("imf", "[imf]"), "line 4, column 3", ["tags[0]: is a list: expected text"]),
    (MEXICO.replace("MEX\n", "{a: b}\n"), "line 20, column 15", ["is an object: expected text"]),
    (MEXICO.replace("id: MEX", "id:"), "line 20, column 11", ["is empty: expected text"]),
    (MEXICO.replace("id: MEX", "id: ' '"), "line 20, column 15", ["is blank"]),
    (MEXICO.replace("COUNTRY", "INDICATOR"), "line 18, column 25", ['dimension "INDICATOR" occurs twice', "at [0]"]),
    (
        MEXICO.replace("name: Mexico", "name: Mexico\n          name: M"),
        "line 22, column 11",
        ['"name" more than once'],
    ),
    (MEXICO + "comments: again\n", "line 22, column 1", ['key "comments" more than once']),
    (MEXICO.replace("content: Could", "content: [Could"), "line 9, column 12", ["not valid YAML", "',' or ']'"]),
    (MEXICO.replace("  content: Could", "   content: Could"), "line 9, column 11", ["not valid YAML"]),
    (MEXICO.replace("id: MEX", "id: *"), "line 20, column 16", ["not valid YAML", "alphabetic"]),
    ("id: a\nconversation:\n- role: user\n  content: q\n", "line 3, column 1", ["no question", "nothing to score"]),
    ("id: a\nconversation: []\n", "line 2, column 15", ["no message of the role user"]),
    ("id: a\nconversation: hello\n", "line 2, column 15", ["is the text 'hello': expected a list of messages"]),
    ("id: a\nname: b\n", "line 1, column 1", ["has no conversation"]),
    ("- conversation: []\n", "line 1, column 3", ["neither id nor name"]),
    ("id: ''\nname: b\nconversation: []\n", "line 1, column 5", ["id: is empty"]),
    ("just text\n", "line 1, column 1", ["expected a case"]),
    ("[1, 2]\n", "line 1, column 2", ["is the text '1': expected a case"]),
    (with_target("null"), "line 3, column 1", ["nothing to score"]),
    (with_target("{}"), "line 5, column 11", ["has no indicator_selection"]),
    (with_target("{indicator_selection: }"), "line 5, column 12", ["is empty: expected a list of datasets"]),
    (with_target("{indicator_selection: [{dimensions: []}]}"), "line 5, column 34", ["has no dataset_id"]),
    (with_target(TARGET) + f"  targets: [{TARGET}]\n", "line 3, column 3", ["both target and targets"]),
    (with_target("") + "  targets: []\n", "line 6, column 12", ["is an empty list"]),
    (with_target(TARGET) + "- role: system\n  content: Hi\n", "line 6, column 3", ["settings of the system"]),
    (with_target(TARGET) + f"- role: assistant\n  target: {TARGET}\n", "line 7, column 11", ["belongs to a question"]),
    (with_target(TARGET) + "- role: users\n", "line 6, column 9", ['the role is "users"', 'did you mean "user"?']),
    (with_target(TARGET) + "- content: q\n", "line 6, column 3", ["has no role"]),
    (with_target(TARGET) + "- role: user\n  content: ' '\n", "line 7, column 12", ["is blank: write the question"]),
    (with_target(TARGET) + "- role: user\n", "line 6, column 3", ["has no content"]),
    (with_values("[A, '*']"), None, ["'*' is given together with codes"]),
    (with_values("all"), None, ["is the text 'all': expected a list of terms", "'*' for every code"]),
    (with_values(""), None, ["is empty: expected a list of terms"]),
    (
        with_target("{indicator_selection: [{dataset_id: D, time_range: 2015}]}"),
        None,
        ["expected a mapping with start"],
    ),
    (with_target("{indicator_selection: [{dataset_id: D, time_range: {from: 1}}]}"), None, ['unknown key "from"']),
    (with_target("{indicator_selection: [{dataset_id: D, time_range: {end: }}]}"), None, ["neither start nor end"]),
    ("cases:\n- id: a\nother: x\n", None, ['unknown key "other"']),
    ("cases: 5\n", "line 1, column 8", ["expected a list of cases"]),
    (in_list(MEXICO, MEXICO), None, ["occurs twice", "set.yaml, line 1", "set.yaml, line 22"]),
    (in_list(MEXICO, OTHER).replace("role: user", "rolle: user"), "line 8, column 5", ['did you mean "role"?']),
    (in_list(MEXICO, OTHER.replace("role: user", "rolle: user")), "line 29, column 5", ['did you mean "role"?']),
    (in_list(MEXICO, OTHER.replace("id: MEX", "id: [")), "line 41, column 17", ["not valid YAML"]),
    ("cases:\n" + in_list(MEXICO, OTHER.replace("id: MEX", "id: [")), "line 42, column 17", ["not valid YAML"]),
    (MEXICO + "---\n" + OTHER.replace("id: MEX", "id: &a {a: *b}"), "line 42, column 22", ["not valid YAML", "alias"]),
    ("# nothing\n", None, ["contains no question"]),
]


@pytest.mark.parametrize("bad", BAD)
def test_unusable_yaml(bad, write):
    content, place, says = bad
    path = write("set.yaml", content)
    assert_refused(lambda path: load_cases(path, formats=[SdmxFormat()], format="sdmx"), path, place, says)


@pytest.mark.parametrize(
    ("name", "content", "place", "says"),
    [
        ("a.json", '[{"id": "a", "conversation" 1}]', "line 1, column 29", "not valid JSON"),
        ("a.json", '[{"id": "a", "id": "b"}]', None, 'key "id" more than once'),
        ("a.json", '[{"id": "a", "id" : "b", "name": "x:y"}]', None, 'key "id" more than once'),
        ("a.json", '[{"id": "a", "id": "b", "\\u003a": 1}]', None, 'key "id" more than once'),
        ("a.json", '[{"id": "a", "conversations": []}]', "item 1", 'did you mean "conversation"?'),
        ("a.jsonl", '{"id": "a", "conversation": 1}\n', "line 1", "is the number 1: expected a list"),
        ("a.jsonl", '{"id": "a", "conversation": []}}\n', "line 1, column 32", "not valid JSON"),
        ("a.jsonl", '[{"id": "a"}]', None, "one JSON document"),
        ("a.json", '{"id": null, "name": "b", "conversation": []}', "item 1", "id: is empty"),
    ],
)
def test_unusable_json(name, content, place, says, write):
    assert_refused(read, write(name, content), place, says)


PIECES = ["- ", ": ", " #", "'", '"', "\\", "[", "{", "&a ", "*a", "!!str ", "!!null ", "%", "? ", "<<: ", "~", "é"]
PIECES += [
    "\\ud800",
    "id: ",
    "|\n",
    ">\n",
    "---\n",
    "...\n",
    "\t",
    "\r\n",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x00",
    "\U0001f600",
]
PIECES += ["\n\n"]
SEED = in_list(MEXICO, OTHER)


@given(
    st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 12), st.sampled_from(PIECES)), min_size=1, max_size=3)
)
@example([(SEED.index("LP"), 0, "&a "), (SEED.index("MEX"), 3, "*a")])
@example([(1, 0, "\x00")])
def test_a_text_with_anything_in_it_is_cases_or_an_error_with_a_place(edits):
    text = SEED
    for at, taken, put in edits:
        text = text[:at] + put + text[at + taken :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set.yaml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            good, said = all(case.turns for case in read(path)), ""
        except CaseFileError as error:
            placed = error.place is not None or "twice" in error.message or "special characters" in error.message
            good, said = placed and str(error).startswith(str(path)), str(error)
    assert good, said


LETTERS = st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])
CODES = st.text(LETTERS, min_size=1, max_size=8).filter(lambda code: code.strip() and code.strip() != "*")
NAMES = st.text(LETTERS | st.just(" "), max_size=90)


@given(
    st.lists(st.lists(st.tuples(CODES, NAMES), max_size=4), min_size=1, max_size=3),
    st.sampled_from([40, 80, 4096]),
    st.sampled_from([None, "'", '"']),
)
def test_what_a_program_writes_of_cases_is_read_as_it_was(dimensions, width, style):
    listed = [
        {"dimension_name": f"D{number}", "values": [{"id": id_, "name": name} for id_, name in terms]}
        for number, terms in enumerate(dimensions)
    ]
    target = {"indicator_selection": [{"dataset_id": "X", "dimensions": listed}]}
    yaml = YAML()
    yaml.width, yaml.default_style = width, style
    text = io.StringIO()
    yaml.dump({"id": "a", "conversation": [{"role": "user", "content": "q", "target": target}]}, text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.yaml")
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
        (case,) = read(path)
    kept = [[(term.id, term.name or "") for term in one.terms] for one in only_dataset(case).dimensions]
    assert kept == [list(dict.fromkeys((id_.strip(), name.strip()) for id_, name in terms)) for terms in dimensions]


def test_a_yaml_file_too_large_for_yaml_is_refused_with_what_to_write_instead(write):
    with pytest.raises(CaseFileError, match=r"big.yaml: has 16,\d+,\d+ characters .* JSON Lines \(.jsonl\)"):
        read(write("big.yaml", MEXICO + "#" * MOST_CHARACTERS))


def test_whoever_waits_for_much_yaml_is_told_why(write):
    with pytest.warns(UserWarning, match=r"big.yaml has 1,\d+,\d+ characters of YAML.*JSON Lines"):
        read(write("big.yaml", MEXICO + "#" * 1_000_000))


def test_the_names_of_the_keys_are_fixed(write):
    with pytest.raises(CaseFileError, match="the name of the question was given, but the keys of SDMX cases are fixed"):
        SdmxFormat().cases(write("a.yaml", MEXICO), FieldNames(question="q"))


def test_terms_are_shared_and_the_collector_runs_again(write):
    text = in_list(MEXICO, OTHER, MEXICO.replace("id: c48", "id: d48").replace("id: MEX", "id: 'MEX'"))
    assert gc.isenabled()
    cases = read(write("a.yaml", text))
    assert gc.isenabled()
    assert len({id(only_dataset(case).dimensions[1].terms[0]) for case in cases}) == 1
    with pytest.raises(CaseFileError):
        read(write("a.yaml", "a: ["))
    assert gc.isenabled()


def test_scripted_answers_of_an_assistant_are_left_out_and_said(write):
    content = with_target(TARGET) + "- role: assistant\n  content: Hi\n- role: user\n  content: and?\n"
    with pytest.warns(UserWarning, match=r"1 message of the role assistant, first in the case at c\.yaml, line 1"):
        (case,) = SdmxFormat().cases(write("c.yaml", content), FieldNames())
    assert [turn.question for turn in case.turns][1:] == ["and?"]
