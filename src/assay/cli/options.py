"""The options that several verbs share, each declared once.

Options that belong together form a group: a frozen Struct that a verb takes as one parameter. `ungrouped` gives
the parser each field of the group as an option of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer
from msgspec import Struct

from assay.errors import UsageError

CONCURRENCY = 4

RunFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="RUN", help="Folder for the run; resumes what is there.")
]
Limit: TypeAlias = Annotated[int | None, typer.Option(metavar="N", min=1, help="Judge only the first so many cases.")]
Name: TypeAlias = Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the run.")]
Tags: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="A label for the run, as model=gpt-4.1; repeatable.")
]
Penalty: TypeAlias = Annotated[
    list[float] | None,
    typer.Option(metavar="C", help="Of the reliability score: what a wrong answer costs. Repeatable. [0, 10, N]"),
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Forget an earlier run in the folder.")]
Rescore: TypeAlias = Annotated[
    bool, typer.Option("--rescore", help="Judge the folder's answers anew, without asking again.")
]
AllowUnmatched: TypeAlias = Annotated[
    bool, typer.Option("--allow-unmatched", help="Accept predictions that fit no case.")
]
Sheet: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a workbook. Default: the only one with the columns.")
]
CaseFormat: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Format of the question set, if not told by its name.")
]
IdColumn: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the ids.")]
QuestionColumn: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the questions.")]
GoldColumn: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the gold queries.")]
DbColumn: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the databases' names.")]
Encoding: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a text file that is not UTF-8, such as cp1252.")
]

Concurrency: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help=f"Questions asked at once. [default: {CONCURRENCY}]")
]
Repeat: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Ask each question N times, and say how steady it is.")
]
User: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="For the live system. Or ASSAY_USER.")]
Password: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Better in ASSAY_PASSWORD, or asked for.", show_default=False)
]
Token: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Bearer token or API key. Better in ASSAY_TOKEN.", show_default=False)
]
VerifySsl: TypeAlias = Annotated[bool, typer.Option(help="Check the live system's certificate.")]
PriceIn: TypeAlias = Annotated[float | None, typer.Option(metavar="USD", min=0, help="For a million tokens of input.")]
PriceOut: TypeAlias = Annotated[
    float | None, typer.Option(metavar="USD", min=0, help="For a million tokens of output.")
]
DenodoConfig: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Denodo's project_config.env. The environment and flags weigh more."),
]

Timeout: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.01, help="For each query. [default: 30]")
]
ComparisonTimeout: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0.01, help="For comparing two results, and for each metric. [default: 60]"),
]
MaxRows: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Rows of each result. [default: 1000000]")
]
MaxMemory: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="MIB", min=16, help="Memory that the engine may use for a query. [default: 2048]"),
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes, on a cluster a node. Default: one a core, at most 8.")
]
Backend: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where queries run: local, ray, or ray://HOST:PORT. [default: local]"),
]
Cache: TypeAlias = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Executions that runs share: a query runs once on the same content."),
]
CacheSize: TypeAlias = Annotated[
    int | None, typer.Option(metavar="MIB", min=1, help="The cache's bound; the least used goes. [default: 2048]")
]
VesIterations: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Executions for the metrics ves, bird_rves. [default: 3]")
]
VesBudget: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=0, help="For all timing. [default: as long as it takes, and 60 more for noisy pairs]"
    ),
]

Html: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained HTML file.")]
Markdown: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write Markdown, fit for a pull request; - prints it.")
]
Workbook: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write an Excel workbook: summary, charts, every case.")
]
Junit: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, for a CI server.")]
JsonFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write all numbers and cases as JSON; - prints it.")
]
To: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="NAME=FILE", help="Write a report by its format's name, a plugin's too; repeatable."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON on standard output.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


class AskFlags(Struct, frozen=True, kw_only=True):
    """How a live system or a model is asked. None: the default of `SystemOptions`."""

    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A field of each request, as model=gpt-4.1; repeatable."),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="An HTTP header of each request, for a gateway; never shown. Repeatable."
        ),
    ] = None
    ask_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.01, help="For each question. [default: 120]")
    ] = None
    retries: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="After trouble that may pass. [default: 3]")
    ] = None


class ComparisonFlags(Struct, frozen=True, kw_only=True):
    """How two results are compared, and which differences are no mistakes."""

    columns: Annotated[str | None, typer.Option(metavar="ORDER", help="'any' column order, or 'strict': gold's.")] = (
        None
    )
    relative_tolerance: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="How far floats may differ, of the larger, below 1. [default: 1e-12]"),
    ] = None
    absolute_tolerance: Annotated[
        float | None, typer.Option(metavar="SIZE", help="Floats this near to 0 are all 0. [default: 1e-12]")
    ] = None
    extra_columns: Annotated[
        str | None, typer.Option(metavar="RULE", help="'allowed': more columns than gold's are no mistake.")
    ] = None
    duplicates: Annotated[
        str | None, typer.Option(metavar="RULE", help="'ignored': how often a row occurs does not count.")
    ] = None
    letter_case: Annotated[
        str | None, typer.Option("--case", metavar="RULE", help="'ignored': upper and lower case are alike.")
    ] = None
    shape: Annotated[
        str | None, typer.Option(metavar="RULE", help="'any': a pivoted answer, or a row of totals, is no mistake.")
    ] = None
    tolerance: Annotated[
        float | None, typer.Option(metavar="SHARE", min=0, help="Floats that differ by less are no mistake, as 1e-6.")
    ] = None

    def given(self) -> dict[str, Any]:
        """The flags by the names of `RunFileSettings`."""
        names = {name: "case" if name == "letter_case" else name for name in self.__struct_fields__}
        return {name: getattr(self, own) for own, name in names.items()}


class ReportFlags(Struct, frozen=True, kw_only=True):
    """The reports of a run, each a path, or ``-`` for standard output."""

    html: Html = None
    md: Markdown = None
    xlsx: Workbook = None
    junit: Junit = None
    to: To = None

    def targets(self, **others: Path | None) -> dict[str, Path | None]:
        """The paths by format, with those of ``others`` and of ``--to``. Call it before any work is done.

        Raises UsageError for a malformed pair and for a format with two files, InputError for an unknown format.
        """
        given = {"html": self.html, "md": self.md, "xlsx": self.xlsx, "junit": self.junit, **others}
        return with_named(given, self.to)


def with_named(targets: Mapping[str, Path | None], to: Sequence[str] | None) -> dict[str, Path | None]:
    """The files of each format, with those that ``--to NAME=FILE`` names. Call it before any work is done.

    Raises UsageError for a malformed pair and for a format with two files, InputError for an unknown format.
    """
    from assay import registry

    found = dict(targets)
    for text in to or ():
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path):
            raise UsageError(f"--to {text!r}: write NAME=FILE, such as html=report.html")
        registry.reporter(name)  # a plugin that cannot load fails now, not after an hour
        if (other := found.get(name)) is not None:
            raise UsageError(f"the report {name} is to be written twice, to {other} and to {path}: name one file")
        found[name] = Path(path)
    return found


def ungrouped(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as the parser sees it: with the fields of each group among its own parameters."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[Parameter] = []
    for parameter in signature(verb).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, Struct):
            groups[parameter.name] = hint
            kinds = get_type_hints(hint, include_extras=True)
            parameters += [
                parameter.replace(annotation=kinds[name]) for name, parameter in signature(hint).parameters.items()
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint))

    @wraps(verb)
    def called(**options: Any) -> None:
        made = {
            name: group(**{field: options.pop(field) for field in group.__struct_fields__})
            for name, group in groups.items()
        }
        verb(**options, **made)

    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
