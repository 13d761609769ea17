"""One opened case says all there is: both queries and how they differ, both results, the scores."""

from __future__ import annotations

from pathlib import Path

import browser_runs as runs
import pytest
from browser_window import Look, written

from assay.reports.html.run import HtmlReporter

COPIES = ("clipboard-read", "clipboard-write")


def test_both_queries_are_coloured_and_what_differs_is_marked(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-10")
    opened.open_case()
    pre = opened.page.locator("#case-body pre")
    assert pre.nth(0).inner_text().replace("\n", " ") == runs.CASES[9]["gold_sql"]
    assert pre.nth(1).inner_text() == "SELECT city\nFROM client -- all ⟨U+202E⟩ of them"
    assert opened.page.locator("#case-body pre del").all_inner_texts() == ["DISTINCT"]
    assert opened.page.locator("#case-body pre ins").count() == 0
    marked = opened.page.locator("#case-body pre del")
    assert marked.get_attribute("title") == "only in the gold query"
    for colours in ("none", "active"):  # of the system's own, in which backgrounds and shadows are gone
        opened.page.emulate_media(forced_colors=colours)  # type: ignore[arg-type]
        assert marked.evaluate("(one) => getComputedStyle(one).textDecorationLine") == "underline"
    opened.page.emulate_media(forced_colors="none")
    for kind in ("keyword", "comment"):
        assert opened.page.locator(f"#case-body .sql-{kind}").count() > 0
    keyword, plain = (
        opened.has(f"getComputedStyle(document.querySelector('#case-body {one}')).color")
        for one in (".sql-keyword", "pre")
    )
    assert keyword != plain


def test_each_clause_says_what_became_of_it(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-04")
    opened.open_case()
    chips = opened.has("[...document.querySelectorAll('.clause')].map((one) => one.title)")
    assert chips == ["differs", "the same in both", "the same in both", "only in the prediction"]
    names = opened.page.locator(".clause").all_text_contents()
    assert [name.split()[1] for name in names] == ["SELECT", "FROM", "GROUP", "HAVING"]


def test_right_answers_are_not_marked_as_different(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-05")
    opened.open_case()
    assert opened.page.locator("#case-body pre del, #case-body pre ins, .clause").count() == 0
    # Which predicted column stands for which of gold's is of no matter where the names are the same.
    assert opened.page.locator(".aligned thead th").all_inner_texts() == ["name", "city"]


def test_rows_stand_beside_each_other_with_the_cells_that_differ(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-02")
    opened.open_case()
    headings = [" ".join(text.split()) for text in opened.page.locator(".aligned thead th").all_inner_texts()]
    assert headings == ["name", "city ← town", "points"]
    near = opened.page.locator(".aligned tr.near")
    assert near.locator("del").all_inner_texts() == ["31"]
    assert near.locator("ins").all_inner_texts() == ["30"]
    assert opened.page.locator(".aligned tr.matched").count() == 3


def test_null_is_told_from_empty_text_and_from_the_word(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-02")
    opened.open_case()
    cells = opened.has(
        "[...document.querySelectorAll('.aligned tbody tr')]"
        ".map((row) => [...row.cells].slice(1).map((one) => one.innerText))"
    )
    assert ["''", "NULL", "7"] in cells
    assert ["'NULL'", "York", "NULL"] in cells
    drawn = opened.has("[...document.querySelectorAll('.aligned .null')].map((one) => getComputedStyle(one).fontStyle)")
    assert drawn == ["italic", "italic"]


def test_the_reason_scores_failures_and_times_are_there(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-11")
    text = opened.open_case()
    parts = ("Sales of February", "✗ incorrect", "no such column: nme", "medium", "joins", "bird_soft_f1", "gold query")
    assert [part for part in parts if part not in text] == []
    assert "no query" in look(report, "#case=c-08").open_case()
    assert "– unscored" in look(report, "#case=c-07").open_case()


def test_copying_gives_the_query_as_it_was_given(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-10", permissions=COPIES)
    opened.open_case()
    buttons = opened.page.locator("#case-body .copy")
    for place, query in enumerate((runs.CASES[9]["gold_sql"], runs.ANSWERS["c-10"])):
        buttons.nth(place).click()
        opened.page.wait_for_function(
            "(at) => document.querySelectorAll('#case-body .copy')[at].textContent === 'Copied'", arg=place
        )
        assert opened.page.evaluate("() => navigator.clipboard.readText()") == query
    opened.quiet()


def test_copying_works_where_pages_may_not_use_the_clipboard(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-03", permissions=COPIES)
    opened.open_case()
    opened.has("void (navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')))")
    opened.page.locator("#case-body .copy").nth(1).click()
    opened.page.wait_for_selector("#case-body .copy:has-text('Copied')")
    assert opened.page.evaluate("() => navigator.clipboard.readText()") == runs.ANSWERS["c-03"]


def test_the_terms_of_a_selection_are_chips_that_say_what_they_are(look: Look, sdmx: Path) -> None:
    opened = look(sdmx, "#case=talk")
    text = opened.open_case()
    assert [opened.page.locator(f".term.{state}").count() for state in ("right", "missing", "extra")] > [0, 0, 0]
    wrong = opened.page.locator(".term.extra", has_text="NAM")
    assert wrong.get_attribute("title") == "extra"
    assert " ".join(wrong.inner_text().split()) == "+ extra NAM North America in IMF.STA:CPI through the hierarchy"
    for part in ("Turn 2 · not exact", "nothing to select, and nothing selected", "it ends within a string"):
        assert part in text, part
    opened.page.keyboard.press("Escape")
    opened.page.select_option("[data-facet=term]", index=1)
    assert 0 < opened.shown < 4


def test_a_question_that_the_browser_holds_as_long_text_is_read_whole(look: Look, hostile: Path) -> None:
    opened = look(hostile)
    opened.page.fill("#cases-search", "1 MB of text")
    opened.settle()
    opened.page.locator("#cases-rows .row").last.click()
    assert "more characters" in opened.open_case()


@pytest.mark.parametrize(
    ("gold", "predicted", "clauses"),
    [
        ("WITH a AS (SELECT x FROM t) SELECT x FROM a", "SELECT x FROM t", "-WITH =SELECT ≠FROM"),
        ("SELECT a FROM t UNION SELECT b FROM u", "SELECT a FROM t", "=SELECT =FROM -UNION -SELECT -FROM"),
        (
            "(SELECT a FROM t) MINUS (SELECT b FROM u)",
            "(SELECT a FROM t) MINUS (SELECT c FROM u)",
            "=SELECT =FROM =MINUS ≠SELECT =FROM",
        ),
        (
            "SELECT a FROM t WHERE a IS NOT DISTINCT FROM b",
            "SELECT a FROM t WHERE a IS DISTINCT FROM b",
            "=SELECT =FROM ≠WHERE",
        ),
        ("SELECT LISTAGG(x) WITHIN GROUP (ORDER BY y) FROM t", "SELECT LISTAGG(x) FROM t", "≠SELECT =FROM"),
        (
            "SELECT RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
            "SELECT RANK() OVER (ORDER BY b) FROM t",
            "≠SELECT =FROM",
        ),
        ("SELECT t.order, t.group AS limit FROM t", "SELECT t.order FROM t", "≠SELECT =FROM"),
        (
            "SELECT a FROM t WHERE a IN (SELECT b FROM u ORDER BY b)",
            "SELECT a FROM t WHERE a IN (SELECT b FROM u)",
            "=SELECT =FROM ≠WHERE",
        ),
        (
            'SELECT "Order" FROM t WHERE c = "France"',
            "SELECT `order` FROM t /* , u */ WHERE c = 'France' -- x",
            "=SELECT =FROM =WHERE",
        ),
        ("SELECT a FROM t WHERE c = 'france'", "SELECT a FROM t WHERE c = 'France'", "=SELECT =FROM ≠WHERE"),
    ],
)
def test_clauses_are_told_apart_whatever_stands_in_them(
    gold: str, predicted: str, clauses: str, look: Look, report: Path
) -> None:
    told = look(report).page.evaluate(
        "([gold, predicted]) => sql.compare(gold, predicted).clauses.filter((one) => one.name)"
        ".map((one) => ({ same: '=', differs: '≠', gold: '-', predicted: '+' })[one.state] + one.name).join(' ')",
        [gold, predicted],
    )
    assert told == clauses


def test_clauses_known_to_say_the_same_are_not_marked(look: Look, report: Path) -> None:
    page = look(report).page
    script = (
        "([gold, predicted, alike]) => { const found = sql.compare(gold, predicted, alike); return ["
        "found.clauses.map((one) => `${one.name} ${one.state}`).join(', '),"
        " found.gold.filter((one) => one.differs).map((one) => one.text).join(' ')]; }"
    )
    gold = "SELECT a.n FROM x AS a JOIN y AS b ON a.i = b.j WHERE a.n > 1"
    swapped = "SELECT b.n FROM y AS a JOIN x AS b ON b.i = a.j WHERE b.n > 2"
    told = page.evaluate(script, [gold, swapped, ["SELECT", "FROM"]])
    assert told[0] == "SELECT same, FROM same, WHERE differs"
    assert "1" in told[1].split()
    assert "x" not in told[1].split()
    nothing_left = page.evaluate(script, [gold, swapped, ["SELECT", "FROM", "WHERE"]])
    assert "differs" in nothing_left[0]


@pytest.mark.parametrize(
    ("gold", "predicted", "marked"),
    [
        ("WHERE a = 1 AND b = 2 AND c = 3", "WHERE c = 3 AND a = 1 AND b = 2", " / "),
        ("WHERE a = 1 AND b = 2", "WHERE b = 3 AND a = 1", "2 / 3"),
        ("WHERE a BETWEEN 1 AND 2 AND b = 3", "WHERE b = 3 AND a BETWEEN 1 AND 4", "2 / 4"),
        ("WHERE a = 1 AND b = 2", "WHERE b = 2", "a = 1 / "),
        ("WHERE (a = 1 OR b = 2) AND c = 3", "WHERE c = 3 AND (a = 1 OR b = 4)", "2 / 4"),
        ("GROUP BY a, b HAVING count(*) > 1 AND max(d) < 9", "GROUP BY b, a HAVING max(d) < 9 AND count(*) > 1", " / "),
        ("WHERE a = 1 OR b = 2", "WHERE b = 2 OR a = 1", "a = 1 OR / OR a = 1"),
        ("WHERE a = CASE WHEN b AND c THEN 1 END AND d", "WHERE d AND a = CASE WHEN b AND e THEN 1 END", "c / e"),
    ],
)
def test_conditions_are_set_beside_each_other_whatever_their_order(
    gold: str, predicted: str, marked: str, look: Look, report: Path
) -> None:
    told = look(report).page.evaluate(
        "([gold, predicted]) => { const found = sql.compare(gold, predicted); return [found.gold, found.predicted]"
        ".map((side) => side.filter((one) => one.differs).map((one) => one.text).join(' ')).join(' / '); }",
        [f"SELECT n FROM t {gold}", f"SELECT n FROM t {predicted}"],
    )
    assert told == marked


def test_how_sure_the_verdict_is_and_its_flags_are_told_in_words(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-06")
    opened.open_case()
    assert opened.page.inner_text("#case .strength").startswith(
        "Strength: certain: the results differ on this database"
    )
    opened = look(report, "#case=c-09")
    opened.open_case()
    assert "Flag: vacuous: both results are empty" in opened.page.inner_text("#case-body")


def test_values_of_a_column_too_many_are_shown(look: Look, tmp_path: Path) -> None:
    answers = runs.ANSWERS | {"c-01": "SELECT city, name FROM client WHERE city = 'York'"}
    page = HtmlReporter().render(runs.real_run(tmp_path, answers, "more"))
    opened = look(written(tmp_path / "report.html", page), "#case=c-01")
    opened.open_case()
    assert opened.page.locator(".aligned thead th.extra").inner_text().split() == ["+", "city"]
    rows = opened.page.locator(".aligned tbody tr").all()
    assert [row.locator("td").all_inner_texts()[1:] for row in rows] == [["'NULL'", "York"], ["Bo", "York"]]
    assert opened.page.locator(".aligned td.hollow").count() == 0


def test_an_opened_case_is_what_is_printed(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-02")
    opened.open_case()
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#case-body .aligned").is_visible()
    assert not opened.page.locator("#cases").is_visible()
    assert not opened.page.locator("h1").is_visible()
