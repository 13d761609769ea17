"""The fast reader of YAML reads what the careful one reads, or leaves it to that one."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.cases.sdmx.block import RawTerms, Unusual, block_value
from assay.cases.sdmx.format import SdmxFormat
from assay.cases.sdmx.target import TermCache
from assay.errors import CaseFileError
from assay.model import Term
from assay.ports import FieldNames

EXAMPLES = int(os.environ.get("ASSAY_FUZZ_EXAMPLES", "60"))

SEED = """\
# ours
- id: a-1
  name: could_you
  tags:
  - imf
  - weo
  comments: ''
  conversation:
  - role: user
    content: "Could you: give me, 'all' #1?"
    target:
      indicator_selection:
      - dataset_id: IMF.RES:WEO
        dimensions:
        - dimension_name: INDICATOR
          values:
          - id: LP
            name: Population, Persons for countries
              / Index for country groups
          - id: NO
            name: 'It''s'
          - id: "1.10"
            name: "C\\xF4te d'Ivoire"
        - dimension_name: COUNTRY
          values: []
        time_range:
          start: 2015
- id: b
  conversation:
  - role: user
    content: b
    target:
      indicator_selection:
      - dataset_id: D
        dimensions:
        - dimension_name: X
          values:
          - id: A
            name: null
          - B
"""

PIECES = st.sampled_from(
    [
        *[
            "\n",
            " ",
            "  ",
            ":",
            ": ",
            "#",
            " #",
            "- ",
            "-",
            "'",
            '"',
            "''",
            "\\",
            "\\n",
            "[",
            "]",
            "{",
            "}",
            ",",
            "&a ",
            "*a",
        ],
        *[
            "!",
            "!!str ",
            "!!null ",
            "|",
            ">",
            "|\n",
            "%",
            "@",
            "`",
            "?",
            "? ",
            "<<: ",
            "=",
            "~",
            "null",
            "true",
            "---\n",
            "...\n",
        ],
        *[
            "\t",
            "\r",
            "\r\n",
            "\x85",
            "\u2028",
            "\ufeff",
            "\xa0",
            "\x00",
            "\x7f",
            "é",
            "\U0001f600",
            "\n\n",
            "# c\n",
            "id: ",
        ],
        *[
            "name: x\n",
            "    ",
            "          - id: Z\n            name: z\n",
            "  x",
            "- a\n",
            "\n- ",
            "\\\n",
            "\\x41",
            "\\ud800",
        ],
    ]
)


def outcome(text, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.yaml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return SdmxFormat(**options).cases(path, FieldNames())
        except CaseFileError as error:
            return error.message, error.place


@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 12), PIECES), min_size=1, max_size=3))
@example([(SEED.index("LP"), 0, "&a "), (SEED.index("  - B"), 0, "  - *a\n        ")])
@example([(SEED.index("null"), 4, "'null'")])
@example([(SEED.index("F4"), 0, " ")])
@example([(1, 0, "\r")])
@example([(1, 0, "\x00")])
@example([(SEED.index("D\n"), 0, "\u2028")])
def test_a_text_with_anything_in_it(edits):
    text = SEED
    for at, taken, put in edits:
        text = text[:at] + put + text[at + taken :]
    fast, careful = outcome(text), outcome(text, careful=True)
    if isinstance(careful[0], str) and isinstance(fast[0], str):
        # Of several mistakes the fast reader may meet another first; where it is no syntax, both meet the same.
        return
    assert fast == careful


def written_by_ruamel(value, *, width, style, indent):
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = width
    yaml.default_style = style
    yaml.indent(mapping=2, sequence=2 + indent, offset=indent)
    text = io.StringIO()
    yaml.dump(value, text)
    return text.getvalue()


LETTERS = st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])
CODES = st.text(LETTERS, min_size=1, max_size=8).filter(lambda code: code.strip() and code.strip() != "*")
NAMES = st.text(LETTERS | st.just(" "), max_size=90)


@settings(max_examples=EXAMPLES // 2)
@given(
    st.lists(st.lists(st.tuples(CODES, NAMES), max_size=4), min_size=1, max_size=3),
    NAMES.filter(str.strip),
    st.sampled_from([40, 80, 4096]),
    st.sampled_from([None, "'", '"']),
    st.sampled_from([0, 2]),
)
def test_what_ruamel_writes_of_cases_reads_the_same(dimensions, question, width, style, indent):
    listed = [
        {"dimension_name": f"D{number}", "values": [{"id": id_, "name": name} for id_, name in terms]}
        for number, terms in enumerate(dimensions)
    ]
    target = {"indicator_selection": [{"dataset_id": "X", "dimensions": listed}]}
    value = [{"id": id_, "conversation": [{"role": "user", "content": question, "target": target}]} for id_ in "ab"]
    text = written_by_ruamel(value, width=width, style=style, indent=indent)
    read = outcome(text)
    assert read == outcome(text, careful=True)
    if isinstance(read[0], str):
        return  # ruamel does not read back every text that it writes
    for case in read:
        kept = [
            [(term.id, term.name or "") for term in one.terms]
            for one in case.turns[0].targets[0].datasets[0].dimensions
        ]
        assert kept == [list(dict.fromkeys((id_.strip(), name.strip()) for id_, name in terms)) for terms in dimensions]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- id: a\n  values:\n  - id: A\n    name: a\n  - id: B\n    name: b\n", None),
        ("id: a\nvalues:\n- id: A\n  name: a\n  # why\n- id: B\n  name: b\n", None),
        ("values:\n  - id: NO\n    name: No:way # is it\n", Unusual),
        ("values:\n  - id: 1.10\n    name: 'a''b'\n", {"values": (Term(id="1.10", name="a'b"),)}),
        ('values:\n  - id: "a\\u00e9"\n    name: ~\n', {"values": (Term(id="aé"),)}),
        ("values:\n- id: A\n  name: two\n   lines\n", {"values": (Term(id="A", name="two lines"),)}),
        ("values:\n- name: b\n  id: A\n", {"values": [{"name": "b", "id": "A"}]}),
        ("a: &x 1\n", Unusual),
        ("a: |\n  x\n", Unusual),
        ("a: {b: c}\n", Unusual),
        ("a: b: c\n", Unusual),
        ("a: b\na: c\n", Unusual),
        ("a:\tb\n", Unusual),
        ("a: [x, y]\n", {"a": ["x", "y"]}),
        ("a: 'x\n  y'\n", {"a": "x y"}),
        ("a: 'x\n\n  y'\n", Unusual),
    ],
)
def test_what_it_takes(text, value):
    if value is Unusual:
        with pytest.raises(Unusual):
            block_value(text, RawTerms(TermCache()))
    elif value is not None:
        assert block_value(text, RawTerms(TermCache())) == value
    else:
        block_value(text, RawTerms(TermCache()))


def test_one_unusual_entry_is_read_alone():
    question = "    content: |\n      two\n      lines\n"
    target = "    target: &t {indicator_selection: []}\n"
    text = f"{SEED}- id: c\n  conversation:\n  - role: user\n{question}{target}"
    read = outcome(text)
    assert read == outcome(text, careful=True)
    assert read[2].question == "two\nlines\n"
    assert read[2].origin == "a.yaml, line 41"
