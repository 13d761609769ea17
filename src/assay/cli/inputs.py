"""Options that several verbs have: how a file of questions is read, and what else to write."""

from __future__ import annotations

from typing import Annotated

import typer

SheetOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a workbook. Default: the only one with the columns.")
]
EncodingOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a text file that is not UTF-8, such as cp1252.")
]
VesBudgetOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=0, help="For all timing. [default: as long as it takes, and 60 more for noisy pairs]"
    ),
]
ToOption = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="NAME=FILE", help="Write a report by its format's name, a plugin's too; repeatable."),
]
