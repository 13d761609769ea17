"""No name is broken in its middle, at any width: lines break after separators, and what does not fit is in a title."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import browser_runs as runs
import pytest
from browser_window import Look, Opened, written
from msgspec.structs import replace

import assay
from assay import registry
from assay.reports.html.diff import diff_page
from assay.reports.html.history import runs_html
from assay.reports.html.leaderboard import leaderboard_page
from assay.reports.html.run import HtmlReporter
from assay.reports.lint import lint_html
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank
from assay.runs.store.history import point_of

if TYPE_CHECKING:
    from assay.model import Run


WIDTHS = (320, 375, 768, 1240, 1920)
_FIND = (Path(__file__).parent / "names.js").read_text(encoding="utf-8").partition("*/")[2].strip()
_WORDS = ("customers", "products", "contacts", "transcript", "student", "horsepower", "enrolment", "q", "yearly", "id")
_UNICODE = ("größenordnung", "préférences", "заказы", "klienţi", "顧客", "注文明細", "日付")


def _generated() -> dict[str, list[str]]:
    """Names of every kind, by kind; the same in every run."""
    generator = random.Random(36)

    def words(least: int, most: int) -> list[str]:
        return generator.choices(_WORDS, k=generator.randint(least, most))

    return {
        "snake_case": ["_".join(words(3, 9)) for _ in range(4)],
        "dotted": [".".join(["_".join(words(1, 3)) for _ in range(3)]) for _ in range(4)],
        "camelCase": ["".join(word.capitalize() for word in words(4, 8)) for _ in range(4)],
        "unicode": ["_".join(generator.choices(_UNICODE, k=3)) for _ in range(2)]
        + ["".join(generator.choices(_UNICODE, k=2)) for _ in range(2)],
        "no separator": ["".join(words(4, 8)) for _ in range(4)],
        "hyphens": ["-".join(words(2, 6)) for _ in range(4)],
    }


NAMES = _generated()


class _Named:
    binary = True

    def __init__(self, name: str) -> None:
        self.name = name


def _named_run(seed: Run, names: list[str], name: str) -> Run:
    """The seed's cases, with every name of a case taken from the names."""
    given = ["match", *names[:3]]
    metrics = [registry.metric("match"), *map(_Named, names[:3])]
    items = []
    for number, item in enumerate(seed.evidence):
        one, other = names[number % len(names)], names[(number + 1) % len(names)]
        case = replace(
            item.case,
            id=f"{one}_{number}" if number % 2 else f"{number}{one}",
            question=f"How many {one} does {other} have?",
            database=one,
            difficulty=other,
            tags=(one, other),
            name=one,
        )
        scores = tuple(
            replace(item.scores[0], metric=metric, value=float((number + place) % 2))
            for place, metric in enumerate(given)
        )
        wrong = item.verdict.outcome == "incorrect"
        reason = f"one cell differs in gold column {one}: gold 1, predicted 2" if wrong else item.verdict.reason
        prediction = replace(item.prediction, case_id=case.id, tables_used=(one, other), context_tables=(other,))
        items.append(
            replace(
                item,
                case=case,
                prediction=prediction,
                scores=scores,
                cause=other if wrong else None,
                verdict=replace(item.verdict, reason=reason),
            )
        )
    settings = replace(
        seed.settings,
        name=name,
        metrics=tuple(given),
        metric_infos=(),
        cases=f"{names[0]}.jsonl",
        predictions=f"{names[1]}.jsonl",
        tags=(f"model={names[2]}",),
    )
    return replace(
        seed,
        summaries=summaries_of(tuple(items)),
        evidence=tuple(items),
        aggregates=aggregate(summaries_of(items), metrics),
        settings=settings,
    )


def _pages(kind: str, run: Run, folder: Path) -> dict[str, bytes]:
    names = NAMES[kind]
    first, second = _named_run(run, names, names[0]), _named_run(run, names[::-1], names[1])
    second = replace(second, summaries=first.summaries, evidence=first.evidence, aggregates=first.aggregates)
    cases = [
        {**case, "id": f"{names[number % 4]}{number}", "db_id": names[0]} for number, case in enumerate(runs.CASES)
    ]
    lint = assay.lint(cases, databases={names[0]: runs.shop(folder)["shop"]}, workers=1)
    return {
        "report": HtmlReporter().render(first),
        "diff": diff_page(diff_runs(first, second), first, second),
        "board": leaderboard_page(rank([first, second], detailed=True)),
        "lint": lint_html(lint),
        "runs": runs_html([point_of(first), point_of(second)], folder=names[2]),
    }


def _broken(opened: Opened, names: list[str], width: int) -> list[str]:
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: list[str] = opened.page.evaluate(_FIND, names)
    return [f"{width}: {one}" for one in found]


@pytest.fixture(scope="module")
def files(run: Run, folder: Path) -> dict[str, dict[str, Path]]:
    """The file of each page, by the kind of its names."""
    return {
        kind: {
            page: written(folder / f"names-{number}-{page}.html", content)
            for page, content in _pages(kind, run, folder).items()
        }
        for number, kind in enumerate(NAMES)
    }


@pytest.mark.parametrize(
    ("page", "kind"),
    [*(("report", kind) for kind in NAMES), *product(("diff", "board", "lint", "runs"), ("unicode", "no separator"))],
)
def test_no_name_is_broken_in_its_middle(page: str, kind: str, look: Look, files: dict[str, dict[str, Path]]) -> None:
    opened = look(files[kind][page], ready=page not in ("lint", "runs"), dark=kind == "dotted")
    opened.all_parts()
    found = [one for width in WIDTHS for one in _broken(opened, NAMES[kind], width)]
    assert found[:40] == [], len(found)
    if page in ("report", "diff"):
        opened.page.locator("#cases-rows .row").nth(5).click()
        opened.open_case()
    elif page == "board":
        opened.page.locator("#cases-rows button.open").nth(2).click()
        opened.open_case()
    found = [one for width in WIDTHS for one in _broken(opened, NAMES[kind], width)]
    assert found[:40] == [], len(found)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (".counts *, .figures * { overflow-wrap: anywhere !important; max-width: 4rem; }", "broken"),
        (".nm > span { text-overflow: clip !important; max-width: 3rem; }", "cut"),
    ],
)
def test_the_look_at_names_sees_what_is_wrong(
    rule: str, said: str, look: Look, files: dict[str, dict[str, Path]]
) -> None:
    opened = look(files["no separator"]["report"], "#tab=metrics")
    assert _broken(opened, NAMES["no separator"], 375) == []
    opened.styled(rule)
    assert any(said in one for one in _broken(opened, NAMES["no separator"], 375))
