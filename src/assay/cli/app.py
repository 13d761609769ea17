"""All verbs, with their error handling and exit statuses.

0 done · 1 a gate missed, or `assay check` says incorrect · 2 unusable input · 3 interrupted but resumable ·
70 a bug in Assay
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Final

import click

from assay._version import __version__
from assay.cli.messages import say
from assay.cli.parsing.commands import Listed, Verb, Verbs
from assay.cli.parsing.completion import answer_shell, completion_script, install_completion, shell_in_use
from assay.cli.parsing.faults import fault_of
from assay.errors import AssayError, Interrupted, Notice, SystemLost
from assay.platform.surface import command_line

DONE, UNUSABLE_INPUT, INTERRUPTED, OUR_FAULT, BY_CTRL_C = 0, 2, 3, 70, 130
"""1 means a missed gate (`assay.cli.options.gates`), or of `assay check` a wrong query: CI servers rely on that."""

_ALWAYS: Final = {0: "done", 2: "invalid input or command line"}
_GATES: Final = {0: "done, whatever the accuracy", 1: "a gate was missed"}
_UNFINISHED: Final = {3: "unfinished: the same command resumes"}
_OF_A_RUN: Final = {**_GATES, **_UNFINISHED}


def _epilog(page: str, statuses: Mapping[int, str]) -> str:
    """The end of a verb's help: its exit statuses and the page to read."""
    meanings = "; ".join(f"{status} {meaning}" for status, meaning in sorted({**_ALWAYS, **statuses}.items()))
    return f"Exit status: {meanings}.\n\nRead more: assay docs {page}"


def _verb(place: str, short_help: str, *, panel: str, page: str, statuses: Mapping[int, str] = _ALWAYS) -> Listed:
    """A verb, from the path of its function within `assay.cli`: ``module.function``."""
    module, _, function = place.rpartition(".")

    def make() -> Verb:
        from assay.cli.options.declared import parsed

        verb = getattr(import_module(f"assay.cli.{module}"), function)
        parameters, call = parsed(verb)
        return Verb(
            function,
            panel=panel,
            params=parameters,
            callback=call,
            help=cleandoc(verb.__doc__),
            short_help=short_help,
            epilog=_epilog(page, statuses),
        )

    return Listed(name=function, short_help=short_help, panel=panel, make=make)


_START, _JUDGE, _LOOK, _COMPARE, _EXAMINE = (
    "Start here",
    "Evaluate systems",
    "Look at a run",
    "Compare runs",
    "Examine queries and question sets",
)
_SUITE_PAGE = "suites"
_SUITE_HELP = "Build and show suites of small databases."


def _suite() -> Verbs:
    return Verbs(
        "suite",
        help=_SUITE_HELP,
        epilog=_epilog(_SUITE_PAGE, {}),
        verbs=(
            _verb(
                "verbs.suite.build",
                "Build small databases that distinguish gold queries from others.",
                panel="Verbs",
                page=_SUITE_PAGE,
            ),
            _verb(
                "verbs.suite.show",
                "Print the contents of a suite.",
                panel="Verbs",
                page=_SUITE_PAGE,
            ),
        ),
    )


_VERBS: Final = (
    _verb(
        "verbs.demo.demo",
        "Evaluate a bundled sample, report included, in seconds.",
        panel=_START,
        page="five-minutes",
        statuses=_UNFINISHED,
    ),
    _verb(
        "verbs.init.verb.init",
        "Write a settings file for a question set.",
        panel=_START,
        page="predictions",
    ),
    _verb(
        "verbs.doctor.verb.doctor",
        "Check the installation, limits and databases.",
        panel=_START,
        page="reference/databases",
        statuses={
            0: "done",
            2: "a database cannot be read, or invalid command line",
        },
    ),
    _verb(
        "verbs.docs.docs",
        "Show the documentation in the terminal or in the browser.",
        panel=_START,
        page="five-minutes",
    ),
    _verb(
        "verbs.run.run",
        "Evaluate predictions or a live system against a question set.",
        panel=_JUDGE,
        page="predictions",
        statuses=_OF_A_RUN,
    ),
    _verb(
        "verbs.denodo.denodo",
        "Evaluate a live Denodo AI SDK; report in Excel.",
        panel=_JUDGE,
        page="denodo",
        statuses=_OF_A_RUN,
    ),
    _verb(
        "verbs.sdmx.sdmx",
        "Score the selections of an SDMX assistant; report in Excel.",
        panel=_JUDGE,
        page="sdmx",
        statuses=_OF_A_RUN,
    ),
    _verb(
        "verbs.llmsql.llmsql",
        "Score outputs on the LLMSQL benchmark.",
        panel=_JUDGE,
        page="llmsql",
        statuses=_OF_A_RUN,
    ),
    _verb(
        "verbs.judge.judge",
        "Ask an LLM whether queries are equivalent, and calibrate it.",
        panel=_JUDGE,
        page="judge",
        statuses=_UNFINISHED,
    ),
    _verb(
        "verbs.estimate.estimate",
        "Estimate accuracy without gold queries from a few labels.",
        panel=_JUDGE,
        page="estimate",
    ),
    _verb(
        "verbs.view.view",
        "Show one or two runs in the browser.",
        panel=_LOOK,
        page="reports",
    ),
    _verb(
        "verbs.review.review",
        "Review verdicts and gold queries of a run.",
        panel=_LOOK,
        page="review",
    ),
    _verb(
        "verbs.report.report",
        "Write reports of a stored run.",
        panel=_LOOK,
        page="reports",
        statuses=_GATES,
    ),
    _verb(
        "verbs.explain.explain",
        "Explain why a case is incorrect, with the repair.",
        panel=_LOOK,
        page="causes",
    ),
    _verb(
        "verbs.sql.sql",
        "Query runs with SQL.",
        panel=_LOOK,
        page="sql",
    ),
    _verb(
        "verbs.diff.diff",
        "Compare two runs, or rank several.",
        panel=_COMPARE,
        page="comparing",
        statuses=_GATES,
    ),
    _verb(
        "verbs.leaderboard.leaderboard",
        "Rank systems on one question set.",
        panel=_COMPARE,
        page="leaderboard",
    ),
    _verb(
        "verbs.runs.runs",
        "List the runs of a folder and their trend.",
        panel=_COMPARE,
        page="runs-over-time",
    ),
    _verb(
        "verbs.check.check",
        "Check one query against a gold query.",
        panel=_EXAMINE,
        page="check",
        statuses={
            0: "correct",
            1: "incorrect",
            2: "unscored (the gold query fails, a limit cuts a result), or invalid input or command line",
        },
    ),
    _verb(
        "verbs.lint.lint",
        "Find likely errors in gold queries.",
        panel=_EXAMINE,
        page="lint",
        statuses={0: "done", 1: "--fail-on is missed"},
    ),
    _verb(
        "verbs.refute.refute",
        "Find a counterexample for two queries, or prove equivalence.",
        panel=_EXAMINE,
        page="witnesses",
        statuses={0: "done"},
    ),
    Listed(name="suite", short_help=_SUITE_HELP, panel=_EXAMINE, make=_suite),
)


def _show_version() -> None:
    click.echo(f"assay {__version__}")


def _show_completion() -> None:
    click.echo(completion_script(shell_in_use(os.environ)))


def _install_completion() -> None:
    shell = shell_in_use(os.environ)
    path = install_completion(shell)
    click.echo(f"completion for {shell} is in {path}: it works in the next {shell} that you open")


def _alone(name: str, help: str, act: Callable[[], None]) -> click.Option:
    """An option of `assay` itself, which does one thing and ends."""

    def acted(context: click.Context, _option: click.Parameter, asked: object) -> None:
        if asked and not context.resilient_parsing:
            act()
            context.exit()

    return click.Option([name], help=help, is_flag=True, is_eager=True, expose_value=False, callback=acted)


app = Verbs(
    "assay",
    verbs=_VERBS,
    params=[
        _alone("--version", "Show the version and exit.", _show_version),
        _alone("--install-completion", "Install shell completion.", _install_completion),
        _alone("--show-completion", "Print the completion script.", _show_completion),
    ],
    help="Evaluate text-to-SQL systems: which predictions are correct, and why not.",
    epilog="Start with  assay demo.  Options of a verb:  assay run --help\n\nRead more: assay docs",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status. Messages go to standard error, without a traceback."""
    with command_line():
        return _run_command_line(arguments)


def _run_command_line(arguments: Sequence[str]) -> int:
    from assay.cli.crash import secrets_of

    secrets = secrets_of(arguments)
    if answer_shell(app, os.environ):
        return DONE
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            with app.make_context("assay", list(arguments)) as context:
                app.invoke(context)
        return DONE
    except click.exceptions.Exit as ended:  # after --help, or where a verb ended with its own status
        return ended.exit_code
    except click.UsageError as error:
        say(f"error: {fault_of(error)}")
        return error.exit_code
    except Interrupted as error:
        say(str(error))
        return INTERRUPTED
    except SystemLost as error:
        say(f"unfinished: {error}")
        return INTERRUPTED
    except AssayError as error:
        say(f"error: {error}")
        return UNUSABLE_INPUT
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - the top: nothing above says it better
        return _unexpected(error, secrets)


def _unexpected(error: BaseException, secrets: Sequence[str]) -> int:
    """Say what ended the command: a failure of a file or a disk, or else a bug in Assay."""
    from assay.cli.crash import crash_message, without_secrets

    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return BY_CTRL_C
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        say(without_secrets(f"error: {where}{error.strerror}", secrets))
        return UNUSABLE_INPUT
    say(crash_message(error, secrets))
    return OUR_FAULT


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a sentence, without the place in the code that Python would show."""
    say(str(message) if isinstance(message, Notice) else f"warning: {message}")
