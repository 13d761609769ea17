"""The verbs together, and what every one of them does with errors and exit statuses.

0 done · 1 a gate missed · 2 unusable input · 3 interrupted but resumable
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from assay._version import __version__
from assay.cli.demo import demo
from assay.cli.denodo import denodo
from assay.cli.diff import diff
from assay.cli.judge import judge
from assay.cli.llmsql import llmsql
from assay.cli.report import report
from assay.cli.run import run
from assay.cli.runs import runs
from assay.cli.sdmx import sdmx
from assay.cli.view import view
from assay.errors import AssayError, Interrupted, SystemLost

DONE, UNUSABLE_INPUT, INTERRUPTED = 0, 2, 3

app = typer.Typer(
    name="assay",
    help="Judge systems that turn questions into data queries: is each answer right, and why is it wrong.",
    epilog="Start with:  assay demo",
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


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of `assay` itself."""


app.command(short_help="Evaluate a bundled sample, report included, in seconds.")(demo)
app.command(short_help="Judge a system's answers, from a file or live, against a question set.")(run)
app.command(short_help="Run a question set through a live Denodo AI SDK; report in Excel.")(denodo)
app.command(short_help="Score what an SDMX assistant selected, term by term; report in Excel.")(sdmx)
app.command(short_help="Judge a model's outputs on the LLMSQL benchmark.")(llmsql)
app.command(short_help="Ask an LLM whether queries are equivalent, and measure how far to trust it.")(judge)
app.command(short_help="Draw a stored run: on the terminal, or as files.")(report)
app.command(short_help="Show a run, or two beside each other, in the browser, on this machine only.")(view)
app.command(short_help="Compare two runs: better or worse, how sure, on which cases. Or rank several.")(diff)
app.command(short_help="List a folder's runs, and draw their trend.")(runs)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status. Messages go to standard error, without a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            app(args=list(arguments), prog_name="assay")
    except SystemExit as stop:
        # The parser ends this way: 0 after --help, 2 for options that it cannot use. So does a missed gate.
        return stop.code if isinstance(stop.code, int) else DONE
    except (Interrupted, KeyboardInterrupt) as error:
        _say(str(error) or "interrupted")
        return INTERRUPTED
    except SystemLost as error:
        _say(f"unfinished: {error}")
        return INTERRUPTED
    except AssayError as error:
        _say(f"error: {error}")
        return UNUSABLE_INPUT
    except BrokenPipeError:
        # Whoever read our output has stopped (`assay report ... | head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return DONE


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a sentence, without the place in the code that Python would show."""
    _say(f"warning: {message}")


def _say(message: str) -> None:
    from assay.reports.text import visible

    # Names of files, ids and databases are foreign text, and could steer a terminal.
    print(f"assay: {visible(message)}", file=sys.stderr)
