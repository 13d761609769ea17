"""`assay demo`: a whole evaluation of the bundled sample, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.cli.options.declared import (
    Full,
    JsonFile,
    Quiet,
)
from assay.cli.parsing.parameters import argument, option
from assay.settings import Settings

_TIMEOUT_S = 1.0


def demo(
    folder: Annotated[
        Path | None,
        argument(metavar="FOLDER", help="Folder to write to. [default: assay-demo]"),
    ] = None,
    sdmx: Annotated[bool, option("--sdmx", help="Use the SDMX example. Needs the extra sdmx.")] = False,
    full: Full = False,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a bundled sample: an online shop and 36 questions.

    Example:  assay demo

    Writes assay-demo/: the database, the questions, the answers, those of a second version (newer.jsonl), the run and
    report.html. With --sdmx the folder is assay-sdmx/, and the workbook report.xlsx is among them.
    """
    if sdmx:
        _demo_sdmx(folder or Path("assay-sdmx"), full=full, json=json, quiet=quiet)
    else:
        _demo_sql(folder or Path("assay-demo"), full=full, json=json, quiet=quiet)


def _demo_sql(folder: Path, *, full: bool, json: Path | None, quiet: bool) -> None:
    import shutil

    from assay.cli.verbs.run import run_settings
    from assay.demo import build_database, cases_path, newer_predictions, predictions_path
    from assay.errors import InputError

    try:
        database = build_database(folder)
        cases, predictions = folder / "cases.jsonl", folder / "predictions.jsonl"
        shutil.copyfile(cases_path(), cases)
        shutil.copyfile(predictions_path(), predictions)
        (folder / "newer.jsonl").write_text(newer_predictions(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: the sample cannot be written there ({error.strerror})") from error
    report = folder / "report.html"
    settings = Settings(
        cases=str(cases),
        predictions=str(predictions),
        db=f"sqlite:///{database.as_posix()}",
        output=str(folder / "run"),
        timeout_s=_TIMEOUT_S,
        name="the bundled sample",
    )
    run_settings(settings, overwrite=True, full=full, quiet=quiet, reports={"html": report, "json": json})


def _demo_sdmx(folder: Path, *, full: bool, json: Path | None, quiet: bool) -> None:
    import shutil

    from assay.cli.verbs.sdmx import SelectionFlags, run_selections
    from assay.demo import sdmx_path
    from assay.errors import InputError
    from assay.sdmx.structures.xml import require_lxml

    # Checked before anything is written: the demo cannot run without it.
    require_lxml()
    sources = [sdmx_path("cases.yaml"), sdmx_path("predictions.jsonl"), sdmx_path("structures.xml")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copyfile(source, folder / source.name)
    except OSError as error:
        raise InputError(f"{folder}: the example cannot be written there ({error.strerror})") from error
    cases, predictions, structures = (folder / source.name for source in sources)
    settings = Settings(
        cases=str(cases), predictions=str(predictions), output=str(folder / "run"), name="the bundled SDMX example"
    )
    run_selections(
        settings,
        SelectionFlags(structures=[str(structures)]),
        overwrite=True,
        full=full,
        quiet=quiet,
        reports={"html": folder / "report.html", "xlsx": folder / "report.xlsx", "json": json},
    )
