"""The page of a run's settings file: every setting, its type, and what the option of the same meaning says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from command_pages import MADE, cell
from python_pages import text_below

from assay.cli.parsing.panels import OTHER, PANELS, panel_of

PLACE = "docs/reference/run-file.md"
_OPTIONS = {
    "headers": "--header",
    "penalties": "--penalty",
    "tags": "--tag",
    "timing_iterations": "--ves-iterations",
    "timing_budget_s": "--ves-budget",
}
"""Options whose names do not follow from the settings'."""
_PANELS = {"cases": "Questions", "case_fields": "Questions", "prediction_fields": "Answers", "gates": "Gates"}
"""Groups of settings without an option of their own, or whose option is in another group."""
_SAID = {
    "cases": "The question set, or a list of the cases themselves.",
    "case_fields": "Which column of the question set is which: [columns](#columns).",
    "prediction_fields": "Which column of the predictions is which: [columns](#columns).",
    "predictions": "The system's answers. Default: in the question set.",
    "metrics": "Names of [metrics](metrics.md). Default: those that the table there has by default.",
    "headers": "HTTP headers for the system, each `NAME=VALUE`; `${NAME}` is taken from the environment.",
    "penalties": "Of the reliability score: what a wrong answer costs. Default: 0, 10 and the number of cases.",
    "tags": "Labels of the run, as `model=gpt-4.1`.",
    "gold_timeout_s": "Per gold query, in place of `timeout_s`.",
    "gold_db": "Of gold's queries, where they run on another database than `db`.",
    "suite": "Folder of a [suite](../guides/suites.md) on whose small databases the answers are tried, too.",
    "gates": "What the run must reach: [in gates](#in-gates).",
    "lint": "How `assay lint` looks at the question set: [in lint](#in-lint).",
    "witness": "True, or how witnesses are looked for: [in witness](#in-witness).",
    "GateSettings.min": "The least mean of each metric, such as `{match: 0.8}` or `{match: 80%}`.",
    "GateSettings.max_drop": "How far each metric may be below the baseline, such as `{match: 1%}`.",
    "GateSettings.fail_on_regression": "Not significantly worse than the baseline: true for the headline, or metrics.",
    "GateSettings.must_pass": "All right in `tag:NAME`, `difficulty:NAME`, `database:NAME`, `id:ID`.",
    "LintFileSettings.only": "Apply these [rules](lint-rules.md) alone.",
    "LintFileSettings.ignore": "Leave these rules out.",
    "LintFileSettings.with_run": "Whether `assay run` shows the findings beside its verdicts, too. Default: false.",
    "WitnessFileSettings.total": "For all pairs, as 10m. Default: as long as it takes.",
    "WitnessFileSettings.seed": "Of the random databases that are tried: another one, other databases.",
    "WitnessFileSettings.rows": "What no rule decides is checked on all tables of so many rows. Default: `2`.",
    "FieldNames.question": "Column of the questions.",
    "FieldNames.id": "Column of the ids. `@position`: row numbers.",
    "FieldNames.tags": "Column of the cases' labels.",
    "FieldNames.context": "Column of the question set's hints.",
}
"""Meanings that neither an option nor the sources say, or that an option says in words of the command line."""
_INTRO = """# The settings file of a run

`assay run eval.yaml` takes everything from a YAML file, and `assay init` writes one that fits your files. Paths are
relative to the file. Options on the command line weigh more. A setting that there is not, or of the wrong kind, is an
error with its line.

<!-- example: file eval.yaml -->
```yaml
cases: cases.jsonl # or a list of the cases themselves
predictions: predictions.jsonl
db: sqlite:///shop.sqlite
output: runs/from-file
metrics: [match, bird_ex]
timeout_s: 1
gates:
  min: {match: 30%}
```

```console
$ assay run eval.yaml --limit 5
```
"""


def settings_page() -> str:
    """The whole page in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    from assay.cli.app import app
    from assay.model import FieldNames
    from assay.settings import GateSettings, LintFileSettings, RunFileSettings, WitnessFileSettings

    top: Any = typer.main.get_command(app)
    helps = {option: one.help for one in top.commands["run"].params for option in one.opts}
    of_lint = {option: one.help for one in top.commands["lint"].params for option in one.opts}
    yield from _INTRO.split("\n")
    panels: dict[str, list[str]] = {}
    for name in RunFileSettings.__struct_fields__:
        panel = _PANELS.get(name) or panel_of("run", [_option(name)])
        panels.setdefault(panel, []).append(name)
    for panel in sorted(panels, key=[*PANELS, OTHER].index):
        yield from _table(f"## {panel}", RunFileSettings, panels[panel], helps)
    yield from _table(
        "## In `gates`", GateSettings, [name for name in GateSettings.__struct_fields__ if name != "origin"], helps
    )
    yield from _table("## In `lint`", LintFileSettings, LintFileSettings.__struct_fields__, of_lint)
    of_witness = {option.replace("--witness-", "--"): told for option, told in helps.items() if "witness-" in option}
    of_witness["--scratch"] = helps["--scratch"]
    yield from _table("## In `witness`", WitnessFileSettings, WitnessFileSettings.__struct_fields__, of_witness)
    of_columns = {option.removesuffix("-column"): told for option, told in helps.items() if option.endswith("-column")}
    of_columns["--database"] = helps["--db-column"]
    yield from _table("## Columns", FieldNames, FieldNames.__struct_fields__, of_columns)
    yield from (MADE, "")


def _option(name: str) -> str:
    return _OPTIONS.get(name) or f"--{re.sub(r'_(s|mib)$', '', name).replace('_', '-')}"


def _table(title: str, values: type, names: list[str], helps: Mapping[str, str]) -> Iterator[str]:
    body = ast.parse(inspect.getsource(values)).body[0]
    assert isinstance(body, ast.ClassDef)
    declared = [one for one in body.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    types = {ast.unparse(one.target): ast.unparse(one.annotation) for one in declared}
    yield from (title, "", "| setting | what is written | meaning |", "|---|---|---|")
    for name in names:
        own = _SAID.get(name if values.__name__ == "RunFileSettings" else f"{values.__name__}.{name}")
        said = helps.get(_option(name)) or text_below(body.body, name)
        if own:
            shown = own
        elif said:
            shown = cell(said.replace("``", "`"))
        else:
            raise LookupError(f"nothing says what the setting {name} of {values.__name__} means: write a text below it")
        yield f"| `{name}` | {_kind(types[name])} | {shown} |"
    yield ""


_KINDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple[str, ...]": "list of texts",
    "tuple[float, ...]": "list of numbers",
    "dict[str, float | str]": "values by metric",
    "tuple[tuple[int, ...], ...]": "lists of whole numbers",
}


def _kind(annotation: str) -> str:
    """A type in words."""
    parts = [part for part in re.split(r" \| (?![^\[]*\])", annotation) if part != "None"]
    return ", or ".join(_KINDS.get(part, "mapping") for part in parts)
