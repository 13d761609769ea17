"""Options are converted as typer converts them, whether it does so itself or is spared the work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.testing import CliRunner

from assay.cli.parsing.coercion import SparingCommand, SparingGroup
from many_cases import each

GIVEN = [
    ["."],
    [""],
    ["nowhere/ü/x y.json", "--text", "ü"],
    [".", "--text", ""],
    [".", "--text=--other", "--label", "a", "--label", "b"],
    [".", "--count", "3", "--share", "0.5", "--no-check"],
    [".", "--count", "007"],
    [".", "--count", "0"],
    [".", "--count", "9"],
    [".", "--count", "10"],
    [".", "--count", "-3"],
    [".", "--count", "+3"],
    [".", "--count", " 3"],
    [".", "--count", "٣"],
    [".", "--count", "3.0"],
    [".", "--label", ""],
    [".", "--count", "x"],
    [".", "--share", "much"],
    [".", "--folder", "."],
    [".", "--folder", __file__],
    [".", "--folder", "nul\0byte"],
    [".", "--there", "nowhere"],
    [".", "--there", __file__],
    [".", "--there", "."],
    [".", "--way", "short"],
    [".", "--unknown"],
    [".", "--text"],
    [],
    ["--help"],
    ["--version", "."],
]


def _told(arguments: list[str], *, spared: bool) -> tuple[int, str, list[Any]]:
    got: list[Any] = []
    app = typer.Typer(cls=SparingGroup, rich_markup_mode=None) if spared else typer.Typer(rich_markup_mode=None)

    @app.callback()
    def of_all(*, version: Annotated[bool, typer.Option("--loud")] = False) -> None:
        got.append(version)

    @app.command(**({"cls": SparingCommand} if spared else {}))
    def verb(
        place: Path,
        *,
        text: str | None = None,
        folder: Annotated[Path | None, typer.Option(file_okay=False)] = None,
        there: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, resolve_path=True)] = None,
        label: list[str] | None = None,
        count: Annotated[int | None, typer.Option(min=1, max=9)] = None,
        share: float = 1.0,
        check: bool = True,
        way: Annotated[str, typer.Option(parser=len)] = "long",
    ) -> None:
        got.append((place, text, folder, there, label, count, share, check, way))

    done = CliRunner().invoke(app, ["verb", *arguments])
    return done.exit_code, done.output, got


@each("arguments", GIVEN, ids=lambda given: " ".join(given).replace("\0", "0")[-30:] or "none")
def test_what_is_given_arrives_as_typer_gives_it(arguments: list[str]) -> None:
    assert _told(arguments, spared=True) == _told(arguments, spared=False)


def test_a_command_with_texts_paths_and_counts_loads_no_validators() -> None:
    code = (
        "import sys; from assay.cli.app import run_command_line; "
        "given = ['-p', 'none', '--db', 'sqlite:///none', '-o', 'none', '--workers', '2', '--tag', 'a', '-q']; "
        "status = run_command_line(['run', 'no-such-file', *given]); "
        "print(status, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "False"], done.stderr
