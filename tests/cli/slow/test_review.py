"""`assay review`: decisions by a command each, and the server of the page: to whom it answers, and what it writes."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import assay, json_lines, refused, started, succeeds

import assay as product
from assay.cli.view.review import OtherRun, ReviewSite
from assay.cli.view.server import LARGEST_BODY, TOKEN_HEADER, ReportServer
from assay.runs.reviews.file import read_reviews
from reviewing_site import serving

CASES = [
    {"id": "right", "question": "Names in York", "gold_sql": "SELECT name FROM client WHERE city = 'York'"},
    {"id": "wrong", "question": "Cities", "gold_sql": "SELECT DISTINCT city FROM client"},
    {"id": "broken", "question": "Nicknames", "gold_sql": "SELECT nickname FROM client"},
]
ANSWERS = {
    "right": "SELECT name FROM client WHERE city = 'York'",
    "wrong": "SELECT city FROM client",
    "broken": "SELECT name FROM client",
}
OTHER = {**ANSWERS, "wrong": "SELECT DISTINCT city FROM client"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A question set, its database, and two runs over it."""
    folder = tmp_path_factory.mktemp("review")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE client(name TEXT, city TEXT);"
            "INSERT INTO client VALUES ('Ada', 'York'), ('Bo', 'York'), ('Cy', 'Leeds');"
        )
    json_lines(folder / "cases.jsonl", CASES)
    for name, answers in (("first", ANSWERS), ("second", OTHER)):
        url = f"sqlite:///{folder / 'shop.sqlite'}"
        product.evaluate(folder / "cases.jsonl", answers, databases=url, workers=1, name=name).save(folder / name)
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    """A copy of it to review."""
    folder = Path(shutil.copytree(made, tmp_path / "work"))
    for name in ("first", "second"):
        stored = (folder / name / "run.json").read_text(encoding="utf-8")
        (folder / name / "run.json").write_text(stored.replace(str(made), str(folder)), encoding="utf-8")
    return folder


class Page:
    """What the page of a run sends."""

    def __init__(self, site: ReviewSite, server: ReportServer) -> None:
        self.site, self.port = site, server.server_port

    def post(
        self, path: str, asked: object, *, headers: Mapping[str, str | None] | None = None, body: bytes | None = None
    ) -> tuple[int, Any]:
        """The status, and the answer as JSON or text."""
        usual = {
            TOKEN_HEADER: self.site.token,
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
        }
        sent = {name: value for name, value in {**usual, **(headers or {})}.items() if value is not None}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request("POST", path, body=json.dumps(asked).encode() if body is None else body, headers=sent)
            response = connection.getresponse()
            content = response.read()
        is_json = response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(content) if is_json else content.decode()


@pytest.fixture
def page(work: Path) -> Iterator[Page]:
    """The server of the first run, in this process."""
    others = [OtherRun(name="second", run=product.load_run(work / "second").record)]
    site = ReviewSite(work / "first", work / "reviews.jsonl", reviewer="Ana", others=others)
    with serving(site) as server:
        yield Page(site, server)


DECISION = {"case": "wrong", "decision": "accept", "note": "as good"}


def test_a_decision_is_in_the_file_when_the_page_hears_of_it(page: Page, work: Path) -> None:
    status, told = page.post("/decide", DECISION)
    assert status == 200
    [review] = read_reviews(work / "reviews.jsonl")
    assert told["wrote"] == review.id
    assert (review.case_id, review.decision, review.reviewer, review.note) == ("wrong", "accept", "Ana", "as good")
    assert told["changed"]["wrong"]["state"] == "reviewed"
    assert told["done"] == 1


def test_the_page_is_told_what_has_changed_since_it_asked(page: Page) -> None:
    _, first = page.post("/reviews", {})
    assert (first["of"], first["done"], first["reviewer"], first["changed"]) == (3, 0, "Ana", {})
    assert [link for link, *_ in first["queue"]] == ["broken", "wrong"], "a match without a doubt is not queued"
    page.post("/decide", DECISION)
    _, told = page.post("/reviews", {"since": first["version"]})
    assert list(told["changed"]) == ["wrong"]
    assert "queue" not in told
    _, again = page.post("/reviews", {"since": told["version"]})
    assert (again["changed"], again["version"]) == ({}, told["version"])
    _, fresh = page.post("/reviews", {"since": "another server.7"})
    assert fresh["fresh"]
    assert list(fresh["changed"]) == ["wrong"]


def test_a_decision_is_taken_back_by_its_id(page: Page, work: Path) -> None:
    _, told = page.post("/decide", DECISION)
    status, undone = page.post("/undo", {"case": "wrong", "review": told["wrote"]})
    assert (status, undone["done"], undone["changed"]["wrong"]["reviews"]) == (200, 0, [])
    status, refused = page.post("/undo", {"case": "wrong", "review": told["wrote"]})
    assert (status, refused["error"]) == (422, "wrong has no review by Ana to take back")
    assert len(read_reviews(work / "reviews.jsonl")) == 2


def test_a_corrected_gold_is_executed_before_anything_is_written(page: Page, work: Path) -> None:
    asked = {"case": "wrong", "decision": "gold_wrong", "gold": "SELECT city FROM client"}
    status, told = page.post("/try", asked)
    assert (status, told["outcome"]) == (200, "correct")
    assert told["detail"]["difference"]["summary"].startswith("gold 3 rows")
    assert not (work / "reviews.jsonl").exists()
    assert page.post("/decide", asked)[0] == 200
    [review] = read_reviews(work / "reviews.jsonl")
    assert (review.gold, review.outcome) == ("SELECT city FROM client", "correct")


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("SELECT nothing FROM client", "the corrected gold query fails: "),
        ("DELETE FROM client", "the corrected gold query fails: "),
        ("no query", "the corrected gold query fails: "),
        ("SELECT DISTINCT city FROM client;", "this is already the gold query of the case"),
    ],
)
def test_a_gold_that_cannot_serve_is_not_saved(page: Page, work: Path, gold: str, said: str) -> None:
    before = (work / "shop.sqlite").read_bytes()
    status, told = page.post("/decide", {"case": "wrong", "decision": "gold_wrong", "gold": gold})
    assert status == 422
    assert said in told["error"]
    assert not (work / "reviews.jsonl").exists()
    assert (work / "shop.sqlite").read_bytes() == before


def test_a_gold_that_was_broken_can_be_corrected(page: Page) -> None:
    status, told = page.post("/try", {"case": "broken", "decision": "gold_wrong", "gold": "SELECT name FROM client"})
    assert (status, told["outcome"]) == (200, "correct")


def test_what_other_runs_answered_is_shown_once(page: Page) -> None:
    _, told = page.post("/answers", {"case": "wrong"})
    [other] = told["answers"]
    assert (other["names"], other["same"], other["detail"]["outcome"]) == (["second"], False, "correct")
    _, same = page.post("/answers", {"case": "right"})
    assert same["answers"][0]["same"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        *(({TOKEN_HEADER: one}, 403) for one in (None, "", "wrong", "\xff")),
        *(({"Origin": one}, 403) for one in (None, "null", "http://evil.example", "http://127.0.0.1:1")),
        ({"Origin": "https://127.0.0.1"}, 403),
        *(({"Sec-Fetch-Site": one}, 403) for one in ("cross-site", "same-site", "none")),
        ({"Host": "evil.example"}, 403),
        *(({"Content-Type": one}, 415) for one in (None, "text/plain", "application/x-www-form-urlencoded")),
        ({"Content-Length": "many"}, 411),
        ({"Content-Length": str(LARGEST_BODY + 1)}, 413),
        ({"Content-Length": "9" * 40}, 413),
    ],
)
def test_only_the_page_itself_may_write(page: Page, work: Path, headers: dict[str, str | None], status: int) -> None:
    answered, told = page.post("/decide", DECISION, headers=headers)
    assert (answered, page.site.token in str(told)) == (status, False)
    assert not (work / "reviews.jsonl").exists()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        *(("/decide", body, 400) for body in (b"", b"{", b"[" * 100_000, b"[]", b'"text"', b"\xff\xfe")),
        ("/decide", b'{"case": "wrong", "decision": "maybe"}', 422),
        ("/decide", b'{"case": "wrong", "decision": "undo"}', 422),
        ("/decide", b'{"case": "gone", "decision": "accept"}', 422),
        ("/decide", b'{"case": 7, "decision": "accept"}', 422),
        ("/decide", b'{"case": "wrong", "decision": "accept", "reviewer": "Ben"}', 422),
        ("/decide", b'{"case": "wrong", "decision": "ambiguous", "leniency": {"case": "upper"}}', 422),
        ("/decide", json.dumps({**DECISION, "note": "x" * 5000}).encode(), 422),
        ("/undo", b'{"case": "wrong"}', 422),
        *((path, b"{}", 404) for path in ("/", "/elsewhere", "/decide?x=1")),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_written(
    page: Page, work: Path, path: str, body: bytes, status: int
) -> None:
    assert page.post(path, None, body=body)[0] == status
    assert not (work / "reviews.jsonl").exists()
    assert page.post("/decide", DECISION)[0] == 200


def test_a_line_that_is_damaged_meanwhile_is_named_and_stops_every_decision(page: Page, work: Path) -> None:
    page.post("/decide", DECISION)
    content = (work / "reviews.jsonl").read_bytes()
    (work / "reviews.jsonl").write_bytes(content + b"<<<<<<< ours\n")
    for path, asked in (("/decide", {**DECISION, "case": "right"}), ("/reviews", {}), ("/undo", DECISION)):
        status, told = page.post(path, asked)
        assert status == 422
        assert "line 2: a mark of a merge conflict" in told["error"]
    (work / "reviews.jsonl").write_bytes(content)
    assert page.post("/decide", {**DECISION, "case": "right"})[1]["done"] == 2


def test_the_page_may_talk_to_its_own_server_and_nothing_else(page: Page) -> None:
    served = page.site.find("/", "")
    assert served is not None
    assert "connect-src 'self';" in served.policy
    assert served.policy.startswith("default-src 'none';")
    assert page.site.token.encode() not in served.content
    assert page.site.find("/reviews.jsonl", "") is None


# As commands


def test_a_decision_without_a_browser(work: Path) -> None:
    done = succeeds("review", work / "first", "wrong", "--accept", "--note", "as good", "--reviewer", "Ana")
    assert done.stdout.startswith("wrong: the prediction is right, too; the case is then correct (Ana, in ")
    [review] = read_reviews(work / "reviews.jsonl")
    assert (review.decision, review.note, review.reviewer) == ("accept", "as good", "Ana")
    done = assay("review", work / "first", "wrong", "--undo", "--reviewer", "Ana")
    assert (done.returncode, done.stdout) == (0, "wrong: the prediction is right, too: taken back\n")


def test_a_corrected_gold_by_a_command(work: Path) -> None:
    gold = "SELECT city FROM client"
    done = assay("review", work / "first", "wrong", "--gold-wrong", "--gold", gold, "--reviewer", "Ana")
    assert "corrected; the case is then correct" in done.stdout
    done = assay("review", work / "first", "broken", "--gold-wrong", "--gold", "SELECT x", "--reviewer", "Ana")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the corrected gold query fails: " in done.stderr
    (work / "shop.sqlite").rename(work / "moved.sqlite")
    command = ("review", work / "first", "broken", "--gold-wrong", "--gold", "SELECT name FROM client")
    done = assay(*command, "--reviewer", "Ana")
    assert done.returncode == 2
    assert "start again with --db URL" in done.stderr
    done = assay(*command, "--reviewer", "Ana", "--db", f"sqlite:///{work / 'moved.sqlite'}")
    assert "the case is then correct" in done.stdout


def test_the_list_has_a_line_for_each_case(work: Path) -> None:
    assay("review", work / "first", "wrong", "--note", "who\nknows?", "--reviewer", "Ana")
    assay("review", work / "first", "right", "--confirm", "--reviewer", "Ben")
    done = assay("review", work / "first", "--list")
    assert done.stdout.splitlines() == [
        "right\tcorrect\treviewed\tnow correct\tBen: the verdict is right",
        "wrong\tincorrect\tunsure\tAna: not sure (who knows?)",
        "broken\tunscored\tunreviewed",
    ]
    assert "1 of 3 reviewed" in done.stderr
    listed = json.loads(assay("review", work / "first", "--list", "--json").stdout)
    assert [one["case_id"] for one in listed] == ["wrong", "right"]


def test_the_reviewer_is_who_git_says(work: Path) -> None:
    settings = work / "gitconfig"
    settings.write_text("[user]\n\tname = Cleo Ode\n", encoding="utf-8")
    env = {"GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_SYSTEM": "/dev/null"}
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    assert "(Cleo Ode, in " in assay("review", work / "first", "right", "--confirm", env=env, cwd=work).stdout
    settings.write_text("", encoding="utf-8")
    assert "--reviewer NAME" in refused("review", work / "first", "right", "--confirm", env=env, cwd=work)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("right",), "say what you decide: --confirm"),
        (("--confirm",), "name the case"),
        (("right", "--confirm", "--accept"), "one decision at a time: --confirm or --accept"),
        (("right", "--accept", "--gold", "SELECT 1"), "--gold is the corrected gold query: it needs --gold-wrong"),
        (("right", "--gold-wrong", "--gold", " "), "--gold is empty: write the corrected gold query"),
        (("right", "--accept", "--allow", "case"), "--allow needs --ambiguous"),
        (("right", "--ambiguous", "--allow", "cas"), "--allow names 'cas'"),
        (("rihgt", "--confirm"), "do you mean 'right'?"),
        (("right", "--undo"), "right has no review by Ana to take back"),
        (("--idle", "0"), "--idle is '0'"),
        (("--minutes", "-1"), "--minutes -1"),
        (("--settle", "Cleo", "--list"), "Cleo"),
    ],
)
def test_what_is_missing_or_too_much_is_said(work: Path, arguments: tuple[str, ...], said: str) -> None:
    done = assay("review", work / "first", *arguments, "--reviewer", "Ana")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (work / "reviews.jsonl").exists()


def test_a_run_whose_question_set_is_gone_needs_a_file(work: Path) -> None:
    (work / "cases.jsonl").unlink()
    assert "name their file with --reviews FILE" in refused("review", work / "first", "--list")
    done = assay("review", work / "first", "right", "--confirm", "--reviewer", "Ana", "--reviews", work / "mine.jsonl")
    assert done.returncode == 0, done.stderr
    assert len(read_reviews(work / "mine.jsonl")) == 1


def test_the_address_has_the_token_and_the_command_ends_when_idle(work: Path) -> None:
    process = started(["review", work / "first", "--no-browser", "--reviewer", "Ana", "--idle", "1"])
    address, said = process.communicate(timeout=300)
    assert address.startswith("http://127.0.0.1:")
    assert len(address.partition("#token=")[2].strip()) >= 32
    assert "Ana reviews" in said
    assert process.returncode == 0
