"""All verbs, with their error handling and exit statuses.

0 done · 1 a gate missed, or `assay check` says incorrect · 2 unusable input · 3 interrupted but resumable ·
70 a bug in Assay
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from assay._version import __version__
from assay.cli.messages import say
from assay.cli.parsing.commands import Listed, Verb, Verbs
from assay.cli.parsing.completion import prepare_completion
from assay.cli.parsing.faults import PARSER_ERROR, fault_of
from assay.errors import AssayError, Interrupted, Notice, SystemLost, UsageError
from assay.platform.surface import command_line

DONE, UNUSABLE_INPUT, INTERRUPTED, OUR_FAULT, BY_CTRL_C = 0, 2, 3, 70, 130
"""1 means a missed gate (`assay.cli.options.gates`), or of `assay check` a wrong query: CI servers rely on that."""

app = typer.Typer(
    name="assay",
    cls=Verbs,
    help="Evaluate text-to-SQL systems: which predictions are correct, and why not.",
    epilog="Start with  assay demo.  Options of a verb:  assay run --help\n\nRead more: assay docs",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer's signature
    if asked:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


def _show_completion(asked: bool) -> None:  # noqa: FBT001 - typer's signature
    if asked:
        from assay.cli.parsing.completion import completion_script, shell_in_use

        typer.echo(completion_script(shell_in_use(os.environ)))
        raise typer.Exit


def _install_completion(asked: bool) -> None:  # noqa: FBT001 - typer's signature
    if asked:
        from assay.cli.parsing.completion import install_completion, shell_in_use

        shell = shell_in_use(os.environ)
        path = install_completion(shell)
        typer.echo(f"completion for {shell} is in {path}: it works in the next {shell} that you open")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option(
            "--install-completion",
            help="Install shell completion.",
            callback=_install_completion,
            is_eager=True,
        ),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option(
            "--show-completion",
            help="Print the completion script.",
            callback=_show_completion,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Options of `assay` itself."""


class _Unexpected(Exception):
    """Wraps an exception of a verb to hide it from the parser, which would end the process with status 1."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(error)


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

    def make() -> Any:
        from assay.cli.options.declared import ungrouped

        verb = ungrouped(getattr(import_module(f"assay.cli.{module}"), function))
        alone = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
        command = alone.command(
            function, short_help=short_help, epilog=_epilog(page, statuses), cls=Verb, rich_help_panel=panel
        )
        command(_kept_apart(verb))
        return typer.main.get_command(alone)

    return Listed(name=function, short_help=short_help, panel=panel, make=make)


def _kept_apart(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, with all that it raises hidden from the parser, except the parser's own exits."""

    @wraps(verb)
    def kept_apart(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except (AssayError, typer.Exit):
            raise
        except typer.Abort as error:
            if isinstance(error.__context__, KeyboardInterrupt):
                raise _Unexpected(error.__context__) from error
            raise UsageError("no password was given: type one, or set ASSAY_PASSWORD") from error
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # the top: `run_command_line` says what it is
            raise _Unexpected(error) from error

    return kept_apart


_START, _JUDGE, _LOOK, _COMPARE, _EXAMINE = (
    "Start here",
    "Evaluate systems",
    "Look at a run",
    "Compare runs",
    "Examine queries and question sets",
)
_SUITE_PAGE = "suites"
_SUITE_HELP = "Build and show suites of small databases."


class _SuiteVerbs(Verbs):
    verbs = (
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
    )


def _suite() -> Any:
    group = typer.Typer(
        rich_help_panel=_EXAMINE,
        name="suite",
        cls=_SuiteVerbs,
        help=_SUITE_HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        epilog=_epilog(_SUITE_PAGE, {}),
    )
    group.callback()(lambda: None)
    return typer.main.get_command(group)


Verbs.verbs = (
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


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status. Messages go to standard error, without a traceback."""
    with command_line():
        return _run_command_line(arguments)


def _run_command_line(arguments: Sequence[str]) -> int:
    from assay.cli.crash import secrets_of

    secrets = secrets_of(arguments)
    prepare_completion(os.environ)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            status = app(args=list(arguments), prog_name="assay", standalone_mode=False)
        # After --help, or where a verb ended with its own status, e.g. that of a missed gate.
        return status if isinstance(status, int) else DONE
    except PARSER_ERROR as error:
        return _usage(error)
    except Interrupted as error:
        say(str(error))
        return INTERRUPTED
    except SystemLost as error:
        say(f"unfinished: {error}")
        return INTERRUPTED
    except AssayError as error:
        say(f"error: {error}")
        return UNUSABLE_INPUT
    except _Unexpected as unexpected:
        return _unexpected(unexpected.error, secrets)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the top: nothing above it would say it better
        return _unexpected(error, secrets)


def _usage(error: Any) -> int:
    """Say what cannot be used of the command line. A bare `assay` is shown its help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
    else:
        say(f"error: {fault_of(error)}")
    return int(error.exit_code)


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
