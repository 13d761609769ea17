"""`assay review`: people decide about the cases of a run, in the browser or by a command each."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from assay.cli.messages import say, tell
from assay.cli.options.declared import JsonFile, Only, duration_option
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError
from assay.model.cases.leniency import STRICT, Leniency
from assay.model.verdicts.review import ReviewDecision
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.api.corrections import GoldTrials
    from assay.cli.view.review import OtherRun
    from assay.model import Case, Evidence, Run, Verdict
    from assay.runs.reviews.desk import ReviewDesk
    from assay.runs.reviews.queue import QueuedCase

_MOST_BESIDE = 8
"""How many other runs of the folder are shown, the latest first."""
_BROWSER, _ONE, _FILE = "In the browser", "One decision, without a browser", "The file of reviews"


class DecisionFlags(Struct, frozen=True, kw_only=True):
    """A decision about one case, each a flag."""

    confirm: Annotated[bool, option("--confirm", help="Record that the verdict is right.", panel=_ONE)] = False
    accept: Annotated[bool, option("--accept", help="Record that the prediction is right, too.", panel=_ONE)] = False
    reject: Annotated[bool, option("--reject", help="Record that the prediction is wrong.", panel=_ONE)] = False
    gold_wrong: Annotated[bool, option("--gold-wrong", help="Record that the gold query is wrong.", panel=_ONE)] = False
    gold: Annotated[
        str | None,
        option(metavar="SQL", help="Corrected gold query, with --gold-wrong.", panel=_ONE),
    ] = None
    ambiguous: Annotated[
        bool, option("--ambiguous", help="Record that the question has several readings.", panel=_ONE)
    ] = False
    allow: Annotated[
        str | None,
        option(
            metavar="NAMES",
            help="Leniency with --ambiguous: extra_columns, duplicates, case, shape (e.g. pivoted).",
            panel=_ONE,
        ),
    ] = None
    unanswerable: Annotated[
        bool, option("--unanswerable", help="Record that the question has no answer.", panel=_ONE)
    ] = False
    unsure: Annotated[bool, option("--unsure", help="Record that you are not sure.", panel=_ONE)] = False
    undo: Annotated[bool, option("--undo", help="Take back your latest decision about the case.", panel=_ONE)] = False
    note: Annotated[
        str | None,
        option(metavar="TEXT", help="Note on the decision; alone: --unsure.", panel=_ONE),
    ] = None

    def decision(self) -> ReviewDecision | None:
        """The one that is asked for; None: none. Raises UsageError for several, and for parts without their flag."""
        names: Sequence[ReviewDecision] = (
            "confirm", "accept", "reject", "gold_wrong", "ambiguous", "unanswerable", "unsure", "undo",
        )  # fmt: skip
        asked = [name for name in names if getattr(self, name)]
        if len(asked) > 1:
            raise UsageError(f"one decision at a time: {' or '.join('--' + name.replace('_', '-') for name in asked)}")
        if self.gold is not None and asked != ["gold_wrong"]:
            raise UsageError("--gold is the corrected gold query: it needs --gold-wrong")
        if self.gold is not None and not self.gold.strip():
            raise UsageError("--gold is empty: write the corrected gold query, or leave --gold out")
        if self.allow is not None and asked != ["ambiguous"]:
            raise UsageError("--allow needs --ambiguous")
        return asked[0] if asked else "unsure" if self.note is not None else None

    def leniency(self) -> Leniency:
        """What --allow names. Raises UsageError for an unknown name."""
        values = {"extra_columns": "allowed", "duplicates": "ignored", "case": "ignored", "shape": "any"}
        names = [name.strip().replace("-", "_") for name in (self.allow or "").split(",") if name.strip()]
        if unknown := [name for name in names if name not in values]:
            raise UsageError(f"--allow names {unknown[0]!r}: write some of {', '.join(values)}")
        return Leniency(**{name: values[name] for name in names}) if names else STRICT  # type: ignore[arg-type]


def review(
    run: Annotated[Path, argument(metavar="RUN", help="Folder of a finished run."), A_RUN],
    case: Annotated[str | None, argument(metavar="CASE", help="Case to decide without a browser.")] = None,
    *,
    reviews: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help="File of reviews. [default: reviews.jsonl in the question set's folder]",
            panel=_FILE,
        ),
    ] = None,
    reviewer: Annotated[
        str | None,
        option(metavar="NAME", help="Reviewer's name. [default: git config user.name]", panel=_FILE),
    ] = None,
    settings: Annotated[
        Settings, Only(("db",), helps={"db": "Database URL for corrected gold queries. Default: that of the run."})
    ],
    beside: Annotated[
        list[Path] | None,
        option(
            "--beside",
            metavar="RUN",
            help="Run whose answers are shown, too. Can be repeated. [default: runs of the folder]",
            panel=_BROWSER,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        option(metavar="M", help="Minutes that you have: the queue is as long as fits.", panel=_BROWSER),
    ] = None,
    queue: Annotated[
        Path | None,
        option(metavar="FILE", help="Queue that assay estimate --next drew."),
    ] = None,
    decided: DecisionFlags,
    every: Annotated[
        bool, option("--list", help="Print the cases with their reviews, one per line.", panel=_FILE)
    ] = False,
    agreement: Annotated[
        bool,
        option("--agreement", help="Print the agreement of reviewers and their conflicts.", panel=_FILE),
    ] = False,
    settle: Annotated[
        str,
        option(metavar="RULE", help="Decision that counts: latest, majority, or a name.", panel=_FILE),
    ] = "latest",
    export: Annotated[
        Path | None,
        option(metavar="FILE", help="Write the corrected question set.", panel=_FILE),
    ] = None,
    json: JsonFile = None,
    port: Annotated[
        int,
        option(
            metavar="PORT",
            least=0,
            most=65535,
            help="Port to listen on. [default: a free one]",
            show_default=False,
            panel=_BROWSER,
        ),
    ] = 0,
    browser: Annotated[
        bool, option("--browser/--no-browser", help="Open the page in a browser.", panel=_BROWSER)
    ] = True,
    idle: Annotated[
        float | None,
        duration_option("--idle", "Time without a request after which to end.", panel=_BROWSER),
    ] = None,
) -> None:
    """Review the cases of a run, also of `assay sdmx`, in the browser, or one case on the command line.

    Example:  assay review runs/first

    Without a browser:  assay review runs/first 54 --gold-wrong --gold "SELECT …" --note "counts orders twice"

    Decisions are stored in reviews.jsonl next to the question set. They hold for later runs and other systems: commit
    the file with the question set.
    """
    if minutes is not None and not minutes > 0:
        raise UsageError(f"--minutes {minutes:g}: expected a number above 0")
    decision = decided.decision()
    if (case is None) != (decision is None):
        raise UsageError(
            "name the case that the decision is about: assay review RUN CASE --confirm"
            if case is None
            else "say what you decide: --confirm, --accept, --reject, --gold-wrong, --ambiguous, --unanswerable, "
            "--unsure, --undo or --note; or leave CASE out, and decide in the browser"
        )
    if minutes is not None and queue is not None:
        raise UsageError("--minutes cuts a queue of doubtful cases, and --queue names one that was drawn: give one")
    work = _Work(run=run, reviews=reviews, settings=settings, settle=settle, queue=queue)
    if case is not None and decision is not None:
        _decide(work, case, decision, decided, _reviewer(reviewer))
    elif export is not None:
        from assay.cli.verbs.review_export import export as write

        write(run, export, reviews=work.desk().file, settle=settle)
    elif agreement:
        _agreement(work, json=json)
    elif every:
        _list(work, json=json)
    else:
        _serve(work, _reviewer(reviewer), beside, minutes, port=port, browser=browser, idle=idle)


class _Work(Struct, frozen=True, kw_only=True):
    """A run and its file of reviews."""

    run: Path
    reviews: Path | None
    settings: Settings
    settle: str
    queue: Path | None = None

    def drawn(self, record: Run, *_: object, **__: object) -> tuple[QueuedCase, ...]:
        """The cases that were drawn to estimate accuracy, in the order of their queue."""
        from assay.runs.estimates.drawing import queued_cases, read_queue

        return () if self.queue is None else queued_cases(record.evidence, read_queue(self.queue))

    def file(self, record: Run) -> Path:
        from assay.runs.reviews.finding import reviews_file

        found = self.reviews or reviews_file(self.run, record.settings, record.provenance)
        if found is None:
            raise InputError(
                f"{self.run}: its question set {record.settings.cases!r} does not exist here, and reviews are stored "
                "next to it: name their file with --reviews FILE"
            )
        return found

    def desk(self) -> ReviewDesk:
        from assay.api.run import load_run
        from assay.runs.reviews.desk import ReviewDesk

        record = load_run(self.run, reviews=False).record
        name = record.settings.name or self.run.resolve().name
        desk = ReviewDesk(record, self.file(record), name=name, settle=self.settle)
        desk.draws = {one.index: one.draw for one in self.drawn(record) if one.draw is not None}
        if desk.reviews.note:
            tell(f"note: {desk.reviews.note}")
        return desk


def _reviewer(given: str | None) -> str:
    """Who decides. Raises UsageError if nothing says it."""
    if given is not None:
        if not given.strip():
            raise UsageError("--reviewer is empty: give your name")
        return given.strip()
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, check=False, timeout=10)
        name = done.stdout.strip()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        name = ""
    if not name:
        raise UsageError("git knows no user.name here: say who you are with --reviewer NAME")
    return name


def _place_of(desk: ReviewDesk, case: str) -> int:
    """The place of a case in the run; of its first answer, if it has several."""
    from assay.reports.text.plain import one_line

    ids = [summary.case_id for summary in desk.run.summaries]
    if case in ids:
        return ids.index(case)
    near = get_close_matches(case, ids, n=1)
    raise InputError(f"the run has no case {one_line(case)!r}{f': do you mean {near[0]!r}?' if near else ''}")


def _decide(work: _Work, case: str, decision: ReviewDecision, flags: DecisionFlags, reviewer: str) -> None:
    from assay.api.corrections import GoldTrials
    from assay.cli.options.access import Access
    from assay.reports.text.plain import visible
    from assay.runs.reviews.deciding import decision_said

    desk = work.desk()
    place = _place_of(desk, case)
    if decision == "undo":
        undone = desk.take_back(place, reviewer=reviewer)
        click.echo(visible(f"{case}: {decision_said(undone)}: taken back"))
        return
    evidence = desk.run.evidence[place]
    draft = desk.draft(
        evidence,
        decision,
        reviewer=reviewer,
        note=(flags.note or "").strip(),
        gold=(flags.gold or "").strip() or None,
        leniency=flags.leniency(),
        place=place,
    )
    access = Access.of_environment()
    trials = GoldTrials(
        desk.run.settings,
        work.run,
        databases=access.databases(work.settings.db, work.settings),
        complete=access.completed,
    )
    with closing(trials):
        made = desk.scored(evidence, draft, lambda evidence, case: _scored(trials, evidence, case))
    desk.write(place, made)
    outcome = "" if made.outcome is None else f"; the case is then {made.outcome}"
    if (now := desk.status(place).outcome) not in (None, made.outcome):
        outcome += f", and {now} by all reviews"
    click.echo(visible(f"{case}: {decision_said(made)}{outcome} ({reviewer}, in {desk.file})"))


def _scored(trials: GoldTrials, evidence: Evidence, case: Case) -> Verdict:
    from assay.cli.view.review import score_by

    return score_by(trials.score(evidence, case))


def _agreement(work: _Work, *, json: Path | None) -> None:
    import msgspec

    from assay.cli.output import write_json
    from assay.reports.console.printing import print_agreement

    agreement = work.desk().reviews.agreement()
    if json is not None:
        write_json(json, msgspec.json.format(msgspec.json.encode(agreement), indent=2))
    else:
        print_agreement(agreement)


def _list(work: _Work, *, json: Path | None) -> None:
    import msgspec

    from assay.cli.output import write_json
    from assay.reports.text.plain import one_line, visible
    from assay.runs.reviews.deciding import decision_said

    desk = work.desk()
    if json is not None:
        write_json(json, msgspec.json.encode(desk.reviews.every))
        return
    for place, summary in enumerate(desk.run.summaries):
        status = desk.status(place)
        said = [
            f"{one.review.reviewer}: {decision_said(one.review)}"
            + (f" ({one_line(one.review.note, limit=80)})" if one.review.note else "")
            + (f" [without effect: the {one.changed} has changed]" if one.holds == "stale" else "")
            for one in status.reviews
            if one.holds in ("in force", "stale")
        ]
        state = "conflict" if status.conflict else status.state
        parts = [summary.case_id, summary.outcome, state, *([f"now {status.outcome}"] if status.outcome else []), *said]
        click.echo(visible("\t".join(one_line(part, limit=200) for part in parts)))
    unknown = f"; {len(desk.unknown)} reviews are of questions that it does not have" if desk.unknown else ""
    tell(f"{desk.done:,} of {len(desk.run.summaries):,} reviewed, in {desk.file}{unknown}")


def _others(work: _Work, record: Run, beside: Sequence[Path] | None) -> list[OtherRun]:
    """The other runs that are shown: those named, or the finished ones in the same folder over the same questions."""
    from assay.api.run import load_run
    from assay.cli.view.review import OtherRun
    from assay.errors import AssayError
    from assay.runs.store.history import point_of, question_set, run_name, scan_runs

    if beside:
        return [
            OtherRun(name=found.settings.name or path.name, run=found)
            for path in beside
            for found in [load_run(path, reviews=False).record]
        ]
    own, asked = work.run.resolve(), question_set(point_of(record))
    points = [
        point
        for point in scan_runs(work.run.absolute().parent)
        if point.status == "finished" and Path(point.folder).resolve() != own and question_set(point) == asked
    ]
    others = []
    for point in reversed(points[-_MOST_BESIDE:]):
        try:
            others.append(OtherRun(name=run_name(point), run=load_run(Path(point.folder), reviews=False).record))
        except AssayError as error:  # nobody asked for this one
            say(f"{point.folder} is not shown: {error}")
    return others


def _serve(
    work: _Work,
    reviewer: str,
    beside: Sequence[Path] | None,
    minutes: float | None,
    *,
    port: int,
    browser: bool,
    idle: float | None,
) -> None:
    from assay.api.run import load_run
    from assay.cli.options.access import Access
    from assay.cli.view.review import ReviewSite
    from assay.cli.view.server import ReportServer
    from assay.cli.view.serving import serve
    from assay.runs.reviews.queue import review_queue

    record = load_run(work.run, reviews=False).record
    file, access = work.file(record), Access.of_environment()
    site = ReviewSite(
        work.run,
        file,
        reviewer=reviewer,
        databases=access.databases(work.settings.db, work.settings),
        access=access,
        others=_others(work, record, beside),
        settle=work.settle,
        minutes=minutes,
        queue=review_queue if work.queue is None else work.drawn,
    )
    # Drawn before the address is printed: a run or a file of reviews that cannot be read ends here.
    site.find("/", "")
    with closing(site), ReportServer(site, port) as server:
        said = f"{reviewer} reviews {work.run} at this address, into {file}; Ctrl-C ends it"
        serve(server, f"{server.url}#token={site.token}", said, browser=browser, idle=idle)
