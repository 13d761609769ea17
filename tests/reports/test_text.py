"""How cells, numbers and foreign text read."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from assay.reports.text.plain import cell_text, clipped, one_line, percent, seconds, visible
from many_cases import each


@each(
    ("cell", "kind", "shown"),
    [
        (None, "null", "NULL"),
        ("NULL", "text", "'NULL'"),
        ("null", "text", "'null'"),
        ("", "text", "''"),
        (" x", "text", "' x'"),
        ("a  b", "text", "'a  b'"),
        ("31", "text", "'31'"),
        ("-.5", "text", "'-.5'"),
        ("2026-03-01", "text", "'2026-03-01'"),
        ("true", "text", "'true'"),
        ("'quoted'", "text", "''quoted''"),
        ("plain words", "text", "plain words"),
        ("a\nb", "text", "'a⏎b'"),
        ("a\u200db", "text", "'a⟨U+200D⟩b'"),
        ("a\u202eb", "text", "'a⟨U+202E⟩b'"),
        ("\udcff", "text", "'⟨U+DCFF⟩'"),
        (31, "number", "31"),
        (31.0, "number", "31.0"),
        (Decimal("1.10"), "number", "1.10"),
        (float("nan"), "number", "nan"),
        (float("-inf"), "number", "-inf"),
        (2**2000, "number", "an integer of 2,001 bits"),
        (True, "boolean", "true"),
        (b"\x00\xff", "bytes", "x'00ff'"),
        (date(2026, 3, 1), "time", "2026-03-01"),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "time", "2026-03-01 12:00:00+00:00"),
        (time(12, 30), "time", "12:30:00"),
        (timedelta(days=1), "time", "1 day, 0:00:00"),
        ([1, None], "other", "[1, None]"),
    ],
)
def test_a_cell_reads_as_what_it_is(cell: object, kind: str, shown: str) -> None:
    text = cell_text(cell)
    assert (text.kind, text.text, text.cut) == (kind, shown, 0)


def test_long_cells_are_cut_with_a_count() -> None:
    assert cell_text("x" * 100, limit=10).whole == "xxxxxxxxxx… +90"
    assert cell_text(b"\xab" * 100, limit=4).whole == "x'abab'… +98"


def test_only_a_full_rate_reads_as_full() -> None:
    for value, text in ((1.0, "100.0 %"), (0.99999, "99.9 %"), (0.712, "71.2 %"), (0.00001, "0.1 %"), (0.0, "0.0 %")):
        assert percent(value) == text
    assert percent(None) == "n/a"
    assert [percent(value) for value in (0.3125, 0.0625, 0.7125)] == ["31.3 %", "6.3 %", "71.3 %"], "as Excel rounds"


def test_durations_read_in_a_fitting_unit() -> None:
    shown = ["0.4 ms", "12 ms", "1.0 s", "3.4 s", "2 min 5 s", "n/a"]
    assert [seconds(value) for value in (0.0004, 0.0123, 0.9999, 3.42, 125, None)] == shown


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert clipped("abcdef", limit=4) == "abcd\n… 2 more characters"
    assert clipped("abcd", limit=4) == "abcd"


@given(st.text(st.characters()))
def test_what_is_visible_can_be_written_and_hides_nothing(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & set("\x00\x07\x1b\r\u202e\u2066\u200b\ufeff")
    assert "\n" not in one_line(text)


def test_joiners_stay_in_prose_and_show_in_cells() -> None:
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert "⟨U+200C⟩" in cell_text("می\u200cخواهم").text
