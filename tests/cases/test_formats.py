"""The same question set and the same predictions come out of every format alike."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest
from msgspec.structs import replace

from assay.cases import POSITION, load_cases, load_predictions, recognise
from assay.errors import CaseFileError, InputError, UsageError
from assay.model import Case, FieldNames, TokenUsage

SUFFIXES = [".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet", ".yaml"]

QUESTIONS = [
    {
        "id": 0,
        "question": "How many shops are in Zürich?",
        "gold_sql": ["SELECT count(*) FROM shop WHERE city = 'Zürich'", "SELECT sum(1)\nFROM shop"],
        "db_id": "shop",
        "difficulty": "easy",
        "tags": "count, filter",
        "evidence": 'A "shop" is one row',
    },
    {
        "id": 7,
        "question": "Which country?",
        "gold_sql": "SELECT 'NO',\t';'",
        "db_id": "shop",
        "difficulty": None,
        "tags": None,
        "evidence": None,
    },
    {"id": 12, "question": "Nothing to find?", "gold_sql": None, "db_id": "NO", "difficulty": "hard"},
]
CASES = (
    Case(
        id="0",
        question="How many shops are in Zürich?",
        golds=("SELECT count(*) FROM shop WHERE city = 'Zürich'", "SELECT sum(1)\nFROM shop"),
        database="shop",
        difficulty="easy",
        tags=("count", "filter"),
        context='A "shop" is one row',
    ),
    Case(id="7", question="Which country?", golds=("SELECT 'NO',\t';'",), database="shop"),
    Case(id="12", question="Nothing to find?", database="NO", difficulty="hard"),
)


def without_origin(cases):
    return tuple(replace(case, origin=None) for case in cases)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_cases(suffix, formats, writers, tmp_path):
    path = writers[suffix](tmp_path / f"set{suffix}", QUESTIONS)
    assert without_origin(load_cases(path, formats=formats)) == CASES


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_predictions(suffix, formats, writers, tmp_path):
    rows = [
        {"id": 3, "predicted_sql": "SELECT 1\n", "llm_time": 2, "prompt_tokens": 10, "total_tokens": 15, "cost_usd": 1},
        {"id": 1, "predicted_sql": None, "llm_time": None, "prompt_tokens": None, "total_tokens": None, "cost_usd": 0},
    ]
    loaded = load_predictions(writers[suffix](tmp_path / f"set{suffix}", rows), formats=formats)
    assert not loaded.by_position
    answered, silent = loaded.predictions
    assert (answered.case_id, answered.query, answered.failure) == ("3", "SELECT 1\n", None)
    assert answered.timings_s == (("llm_time", 2.0),)
    assert answered.tokens == TokenUsage(input=10, total=15)
    assert answered.cost_usd == 1.0
    assert (silent.case_id, silent.query, silent.timings_s, silent.tokens) == ("1", None, (), None)
    assert (silent.failure.stage, silent.failure.kind, silent.failure.blame) == ("ask", "unanswered", "system")
    assert silent.failure.message.startswith(f"set{suffix}, ")


@pytest.mark.parametrize(
    ("suffix", "origin"),
    [
        (".jsonl", "line 2"),
        (".json", "item 2"),
        (".csv", "line 5"),
        (".xlsx", "row 3"),
        (".parquet", "row 2"),
        (".yaml", "line 7"),
    ],
)
def test_origin_says_where_a_case_stands(suffix, origin, formats, writers, tmp_path):
    rows = [
        {"id": 0, "question": "a", "gold": ["SELECT 1", "SELECT 2"]},
        {"id": 1, "question": "b", "gold": "SELECT 2"},
    ]
    path = writers[suffix](tmp_path / f"set{suffix}", rows)
    if suffix == ".yaml":
        path.write_text(
            "# a comment\n- id: 0\n  question: a\n  gold:\n  - SELECT 1\n\n- id: 1\n  question: b\n  gold: x\n"
        )
    assert load_cases(path, formats=formats)[1].origin == f"set{suffix}, {origin}"


def test_yaml_keeps_country_codes_and_leading_zeros_as_text(formats, write):
    path = write(
        "set.yaml",
        "- {id: 007, question: 'yes', gold: SELECT 1, db: NO, level: 2024-01-01}\n"
        "- &base {id: 1_0, question: on, gold: [SELECT 1, ~, ' '], db: no, level: 3}\n"
        "- {<<: *base, id: 8}\n",
    )
    first, second, third = load_cases(path, formats=formats)
    assert (first.id, first.database, first.difficulty) == ("007", "NO", "2024-01-01")
    assert (second.id, second.question, second.database, second.golds) == ("1_0", "on", "no", ("SELECT 1",))
    assert without_origin([third]) == without_origin([replace(second, id="8")])


def test_yaml_1_1_does_not_make_a_country_code_false_and_an_anchor_may_be_named_again(formats, write):
    path = write("set.yaml", "%YAML 1.1\n---\n- {question: &a x, gold: *a, db: NO}\n- {question: &a y, gold: *a}\n")
    assert [(case.database, case.golds) for case in load_cases(path, formats=formats)] == [
        ("NO", ("x",)),
        (None, ("y",)),
    ]


def test_several_yaml_documents_are_one_list(formats, write):
    path = write("set.yml", "question: a\ngold: SELECT 1\n---\nquestion: b\ngold: SELECT 2\n")
    assert [case.question for case in load_cases(path, formats=formats)] == ["a", "b"]


def test_excel_numbers_are_ids_without_a_decimal_point_and_blank_rows_are_skipped(formats, tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "set.xlsx") as workbook:
        hidden = workbook.add_worksheet("old")
        hidden.write_row(0, 0, ["Question", "Solution"])
        hidden.write_row(1, 0, ["old", "SELECT 0"])
        workbook.add_worksheet("blank").activate()
        hidden.hide()
        sheet = workbook.add_worksheet("new")
        sheet.write_row(1, 0, ["Question ID", "Question", "Solution", "difficulty", "Additional Context"])
        sheet.write_row(2, 0, [1.0, "a", "SELECT 1", 2, "dollars"])
        sheet.write_row(4, 0, [2, "b", "=SELECT 2"], None)
        sheet.write_string(4, 2, "=SELECT 2")
        sheet.write_string(6, 3, "  ")
    first, second = load_cases(tmp_path / "set.xlsx", formats=formats)
    assert (first.id, first.golds, first.difficulty, first.context) == ("1", ("SELECT 1",), "2", "dollars")
    assert (second.id, second.golds, second.origin) == ("2", ("=SELECT 2",), "set.xlsx, row 5")


def test_csv_with_byte_order_mark_crlf_and_semicolons(formats, write):
    text = 'id;question;gold\r\n1;"a; b";"SELECT 1\r\n--- \r\nSELECT ""x"""\r\n\r\n2;c;SELECT 2\r\n'
    first, second = load_cases(write("set.csv", b"\xef\xbb\xbf" + text.encode()), formats=formats)
    assert (first.id, first.question, first.golds) == ("1", "a; b", ("SELECT 1", 'SELECT "x"'))
    assert second.origin == "set.csv, line 6"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('"say "no" now"', 'say "no" now'),  # a quote that cannot end the field is text
        ('"not this". Return that.', "not this. Return that."),  # one that ends it too early: text goes on
    ],
)
def test_csv_quotes_that_are_not_doubled_still_give_the_right_fields(field, text, formats, write):
    path = write("set.csv", f"id,question,gold\n1,{field},SELECT 1\n2,b,SELECT 2\n")
    assert [(case.question, case.golds) for case in load_cases(path, formats=formats)] == [
        (text, ("SELECT 1",)),
        ("b", ("SELECT 2",)),
    ]


def test_csv_takes_fields_longer_than_the_csv_module_does_by_itself(formats, write):
    limit = csv.field_size_limit()
    query = "SELECT '" + "x" * 200_000 + "'"
    assert load_cases(write("set.csv", f"question,gold\na,{query}\n"), formats=formats)[0].golds == (query,)
    assert csv.field_size_limit() == limit


def test_byte_order_mark_and_crlf_in_json_lines(formats, write):
    path = write(
        "set.JSONL", b'\xef\xbb\xbf{"question": "a", "gold": "SELECT 1"}\r\n\r\n{"question":"b","gold":"x"}\r\n'
    )
    assert [case.id for case in load_cases(path, formats=formats)] == ["0", "1"]


@pytest.mark.parametrize("wrapper", ["cases", "data"])
def test_a_list_within_one_named_key_is_read(wrapper, formats, write):
    path = write("set.json", f'{{"version": "1", "{wrapper}": [{{"question": "a", "gold": "SELECT 1"}}]}}')
    assert load_cases(path, formats=formats)[0].golds == ("SELECT 1",)


def test_cases_keyed_by_id_and_a_case_alone(formats, write):
    keyed = write("keyed.json", '{"q1": {"question": "a", "gold": "SELECT 1"}}')
    assert load_cases(keyed, formats=formats)[0].id == "q1"
    alone = write("alone.json", '{"id": 5, "question": "a", "gold": "SELECT 1"}')
    assert load_cases(alone, formats=formats)[0].id == "5"


def test_golds_in_a_json_text_are_not_split_at_dashes(formats, write):
    path = write("set.json", '[{"question": "a", "gold": "SELECT 1\\n------\\n+ 2"}]')
    assert load_cases(path, formats=formats)[0].golds == ("SELECT 1\n------\n+ 2",)


def test_limit_keeps_the_first_cases(formats, writers, tmp_path):
    path = writers[".csv"](tmp_path / "set.csv", QUESTIONS)
    assert without_origin(load_cases(path, formats=formats, limit=2)) == CASES[:2]
    assert len(load_cases(path, formats=formats, limit=99)) == 3
    with pytest.raises(UsageError, match="at least 1"):
        load_cases(path, formats=formats, limit=0)


def test_row_numbers_as_ids_where_asked(formats, writers, tmp_path):
    path = writers[".csv"](tmp_path / "set.csv", QUESTIONS)
    cases = load_cases(path, formats=formats, fields=FieldNames(id=POSITION))
    assert [case.id for case in cases] == ["0", "1", "2"]


def test_a_named_format_reads_whatever_the_suffix(formats, write):
    path = write("set.data", "question,gold\na,SELECT 1\n")
    assert load_cases(path, formats=formats, format="csv")[0].question == "a"
    with pytest.raises(InputError, match=r'"cvs" \(did you mean "csv"\?\).*parquet'):
        load_cases(path, formats=formats, format="cvs")
    with pytest.raises(CaseFileError, match=r'the suffix ".data".*one of jsonl, json, csv'):
        recognise(path, formats)


def test_parquet_in_a_folder_whose_name_is_a_pattern(formats, writers, tmp_path):
    folder = tmp_path / "runs[1]*"
    folder.mkdir()
    writers[".parquet"](tmp_path / "set.parquet", QUESTIONS).rename(folder / "set?.parquet")
    writers[".parquet"](tmp_path / "runs1.parquet", QUESTIONS[:1])
    assert len(load_cases(folder / "set?.parquet", formats=formats)) == 3


def test_loading_json_lines_imports_none_of_the_other_formats_libraries(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text('{"question": "a", "gold": "SELECT 1"}\n')
    script = (
        "import sys\nfrom assay.cases import load_cases\n"
        "from assay.cases.benchmarks import bird, spider\nfrom assay.cases.tables import formats as t\n"
        "load_cases(sys.argv[1], formats=[t.JsonLinesFormat(), t.CsvFormat(), t.ExcelFormat(), t.ParquetFormat(),"
        " t.YamlFormat(), t.JsonFormat(), bird.BirdFormat(), spider.SpiderFormat()])\n"
        "print([n for n in ('duckdb', 'python_calamine', 'ruamel.yaml', 'sqlglot', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Theirs:
    """A format of another package, for files that formats of Assay's take as well."""

    name = "theirs"
    takes_encoding = True

    def recognises(self, path):
        return path.suffix in (".sql", ".jsonl") and path.read_bytes().startswith(b"-- theirs")

    def cases(self, path, fields):
        return [Case(id="a", question=path.read_text(fields.encoding or "utf-8"), golds=("SELECT 1",))]


@pytest.mark.parametrize("name", ["a.sql", "a.jsonl"])
def test_a_format_of_another_package_is_asked_first_wherever_it_stands(write, formats, name):
    path = write(name, "-- theirs\n")
    for asked in ([Theirs(), *formats], [*formats, Theirs()]):
        assert recognise(path, asked).name == "theirs"
    other = write(f"b{path.suffix}", "SELECT 1\tshop\n")
    assert recognise(other, [Theirs(), *formats]).name == recognise(other, formats).name != "theirs"


def test_a_format_of_another_package_says_whether_it_takes_an_encoding(write, formats):
    path = write("a.sql", "-- theirs: Zürich".encode("latin-1"))
    (case,) = load_cases(path, formats=[*formats, Theirs()], fields=FieldNames(encoding="latin-1"))
    assert case.question == "-- theirs: Zürich"
    mute = type("Mute", (Theirs,), {"takes_encoding": False})
    with pytest.raises(UsageError, match="an encoding was named"):
        load_cases(path, formats=[*formats, mute()], fields=FieldNames(encoding="latin-1"))
