"""`assay judge`: an LLM's opinion on whether queries are equivalent, and how far to trust it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import click
from msgspec import Struct

from assay.cli.messages import tell
from assay.cli.options.declared import CONCURRENCY, JsonFile, Only, Quiet
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, Interrupted, UsageError
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.api.llm_judging import Labels
    from assay.api.run import Run
    from assay.api.schemas import SchemaOf
    from assay.llm_judge import CaseQueries, JudgedCase, Prompt, QueryJudge

CACHE_NAME = "judge-answers.sqlite"
"""The file in a run's folder with the judge's answers."""


def judge(  # one parameter an option
    run: Annotated[Path | None, argument(metavar="[RUN]", help="Folder of a finished run."), A_RUN] = None,
    *,
    model: Annotated[
        str | None,
        option(metavar="MODEL", help="Model, e.g. gpt-4.1, or chat:http://host/v1 with --param model=…."),
    ] = None,
    sql: Annotated[str | None, option(metavar="QUERY", help="Query to judge instead of a run.")] = None,
    gold: Annotated[list[str] | None, option(metavar="QUERY", help="Query to compare with. Can be repeated.")] = None,
    question: Annotated[str | None, option(metavar="TEXT", help="Question that --sql answers.")] = None,
    schema: Annotated[
        str | None, option(metavar="FILE", help="File with tables and columns; {db_id} is the database.")
    ] = None,
    dialect: Annotated[str | None, option(metavar="NAME", help="Dialect of the queries, e.g. postgres.")] = None,
    only: Annotated[str, option(metavar="WHICH", help="Cases to judge: 'all', 'correct' or 'incorrect'.")] = "all",
    output: Annotated[
        Path | None, option("--output", "-o", metavar="FILE", help="Write the opinions as JSON Lines.")
    ] = None,
    calibrate: Annotated[
        bool, option("--calibrate", help="Measure the judge against execution, or against --labels.")
    ] = False,
    labels: Annotated[
        Path | None, option(metavar="FILE", help="People's labels for --calibrate: case id, and yes or no.")
    ] = None,
    samples: Annotated[int, option(metavar="N", least=1, help="Answers per order of the queries.")] = 1,
    one_order: Annotated[
        bool, option("--one-order", help="Ask in one order only: half the price, no position bias detected.")
    ] = False,
    temperature: Annotated[float, option(metavar="T", least=0, help="Temperature of the model.")] = 0.0,
    prompt: Annotated[Path | None, option(metavar="FILE", help="Prompt template; see --show-prompt.")] = None,
    keep_comments: Annotated[bool, option("--keep-comments", help="Keep comments in the queries.")] = False,
    show_prompt: Annotated[bool, option("--show-prompt", help="Print the first request and exit.")] = False,
    cache: Annotated[
        Path | None,
        option(metavar="FILE", help=f"File of stored answers. Default: {CACHE_NAME} in the run folder."),
    ] = None,
    no_cache: Annotated[bool, option("--no-cache", help="Do not store or reuse answers.")] = False,
    retry_refusals: Annotated[bool, option("--retry-refusals", help="Ask again what the judge refused.")] = False,
    token: Annotated[
        str | None, option(metavar="TEXT", help="API key. Prefer OPENAI_API_KEY.", show_default=False)
    ] = None,
    settings: Annotated[
        Settings,
        Only(
            (
                "limit",
                "concurrency",
                "param",
                "headers",
                "system_timeout_s",
                "retries",
                "verify_ssl",
                "price_in",
                "price_out",
            )
        ),
    ],
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Ask an LLM whether each predicted query of a run is equivalent to its gold query. Nothing is executed.

    Example:  assay judge runs/first --model gpt-4.1 -o opinions.jsonl

    How far to trust it:  assay judge runs/first --model gpt-4.1 --calibrate

    One pair:  assay judge --model gpt-4.1 --sql 'SELECT 1' --gold 'SELECT 2'

    What is sent:  assay judge runs/first --show-prompt
    """
    from assay.api.llm_judging import open_judge
    from assay.api.models import open_model
    from assay.cli.options.access import Access
    from assay.cli.output import check_targets
    from assay.cli.verbs.judge_output import exit_if_unjudged, show_opinions, write_opinions
    from assay.cli.verbs.run import check_credentials
    from assay.reports.text.plain import visible

    check_targets({"json": json})
    wording = _prompt(prompt, keep_comments=keep_comments)
    task = _task(run, sql, gold or [], question, schema, dialect, only, settings.limit, show_prompt=show_prompt)
    if show_prompt:
        text = _shown(wording, task)
        # Text from outside could steer a terminal; a file or a pipe gets it unchanged.
        click.echo(visible(text) if sys.stdout.isatty() else text)
        return
    if task is None:
        raise UsageError("give a RUN, or --sql and --gold: see  assay judge --help")
    if model is None:
        raise UsageError("--model must be given, e.g. --model gpt-4.1; --show-prompt sends nothing and needs none")
    if not any(pair.schema for case in task.cases for pair in case.pairs):
        tell("note: the judge sees no schema and has to guess: add --schema FILE")
    human = _labels(task, calibrate=calibrate, labels=labels, only=only)
    if no_cache and cache is not None:
        raise UsageError("--cache and --no-cache were both given")
    kept = None if no_cache else cache or (None if run is None else run / CACHE_NAME)
    access = Access.gathered(user=None, password=None, token=token, needed=False)
    options = access.system_options(settings)
    opened = open_model(
        model,
        token=None if access.token is None else access.token.reveal(),
        timeout_s=options.timeout_s,
        retries=options.retries,
        parameters=dict(options.parameters),
        verify_ssl=options.verify_ssl,
    )
    check_credentials(opened, kept)
    with open_judge(
        opened,
        samples=samples,
        both_orders=not one_order,
        temperature=temperature,
        concurrency=settings.concurrency or CONCURRENCY,
        cache=kept,
        retry_refusals=retry_refusals,
        prompt=wording,
        usd_per_million_input=settings.price_in,
        usd_per_million_output=settings.price_out,
    ) as asked:
        judged = _judged(asked, task.cases, kept, quiet=quiet)
        if output is not None:
            write_opinions(output, judged, task.run)
        show_opinions(asked, judged, task.run, human, calibrate=calibrate, json_file=json)
    exit_if_unjudged(judged)


class _Task(Struct, frozen=True, kw_only=True):
    """The queries to judge. ``run`` None: one pair from the command line."""

    cases: list[CaseQueries]
    run: Run | None = None


def _task(
    folder: Path | None,
    sql: str | None,
    golds: Sequence[str],
    question: str | None,
    schema: str | None,
    dialect: str | None,
    only: str,
    limit: int | None,
    *,
    show_prompt: bool,
) -> _Task | None:
    """The queries to judge; None if only the bare prompt is shown."""
    from assay.api.llm_judging import Only, queries_of
    from assay.api.run import load_run
    from assay.api.schemas import schema_from_file
    from assay.llm_judge import CaseQueries, QueryPair

    which = next((one for one in get_args(Only) if one == only), None)
    if which is None:
        raise UsageError(f"--only is {only!r}: write 'all', 'correct' or 'incorrect'")
    schema_of: SchemaOf | None = None if schema is None else schema_from_file(schema)
    if folder is not None:
        if sql is not None or golds or question is not None:
            raise UsageError("a RUN brings its own queries: give RUN, or --sql and --gold")
        run = load_run(folder)
        return _Task(cases=queries_of(run, only=which, limit=limit, schema=schema_of, dialect=dialect), run=run)
    if sql is None and not golds:
        if show_prompt:
            return None
        raise UsageError("give a RUN, or --sql and --gold: see  assay judge --help")
    if sql is None or not golds:
        raise UsageError("--sql and --gold belong together: give both")
    text = "" if schema_of is None else schema_of(None)
    pairs = [QueryPair(first=sql, second=gold, schema=text, question=question, dialect=dialect) for gold in golds]
    return _Task(cases=[CaseQueries(case_id="pair", pairs=tuple(pairs))])


def _prompt(path: Path | None, *, keep_comments: bool) -> Prompt:
    from assay.llm_judge import Prompt

    if path is None:
        return Prompt(keep_comments=keep_comments)
    try:
        return Prompt.parse(path.read_text(encoding="utf-8-sig"), keep_comments=keep_comments)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the prompt cannot be read ({why})") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _shown(prompt: Prompt, task: _Task | None) -> str:
    """The first conversation that would be sent; without a task, the prompt as a file for --prompt."""
    if task is None:
        return prompt.text.rstrip("\n")
    pair = next((case.pairs[0] for case in task.cases if case.pairs), None)
    if pair is None:
        raise InputError("no case has both a predicted query and a gold query, so there is nothing to ask")
    return "\n".join(f"--- {message.role}\n{message.content}" for message in prompt.messages(pair))


def _labels(task: _Task, *, calibrate: bool, labels: Path | None, only: str) -> Labels | None:
    from assay.api.llm_judging import read_labels

    if labels is not None and not calibrate:
        raise UsageError("--labels needs --calibrate: add it")
    if not calibrate:
        return None
    if task.run is None:
        raise UsageError("--calibrate measures a judge on the cases of a RUN: give its folder")
    if only != "all" and labels is None:
        raise UsageError(f"--calibrate needs correct and incorrect answers alike: omit --only {only}")
    if labels is not None and task.run.settings.repeats > 1:
        # Checked before the model is asked; measure_judge raises the same.
        raise UsageError(
            f"--labels name cases, and this run has {task.run.settings.repeats} answers to each: omit --labels"
        )
    return None if labels is None else read_labels(labels, [one.case.id for one in task.run.evidence])


def _judged(asking: QueryJudge, cases: Sequence[CaseQueries], kept: Path | None, *, quiet: bool) -> list[JudgedCase]:
    from assay.cli.progress import progress
    from assay.llm_judge import judge_cases
    from assay.runs.progress import Progress

    finished = 0
    try:
        with progress(quiet=quiet) as show:

            def count(_: JudgedCase) -> None:
                nonlocal finished
                finished += 1
                show(Progress(stage="asking", total=len(cases), finished=finished, resumed=0))

            return judge_cases(asking, cases, on_case=count)
    except KeyboardInterrupt:
        if kept is None:
            raise Interrupted("interrupted; no answer was kept (--cache FILE keeps them)") from None
        raise Interrupted(f"interrupted; answers are stored in {kept}: the same command resumes") from None
