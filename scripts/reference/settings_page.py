"""The page of a run's settings file: every setting, what is written for it, and what its declaration says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

from command_pages import MADE, cell

from assay.cli.parsing.panels import PANELS
from assay.settings.setting import Field, Setting, fields_of

PLACE = "docs/reference/run-file.md"
_INTRO = """# The settings file of a run

`assay run eval.yaml` takes everything from a YAML file, and `assay init` writes one that fits your files. Paths are
relative to the file. Options on the command line take precedence. An unknown setting, or one of
the wrong kind, is an error with its line.

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
_COLUMNS = {"case_fields": "of the question set", "prediction_fields": "of the predictions"}
_TIME = "[time](commands/README.md#times)"
_KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def settings_page() -> str:
    """The whole page in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    from assay.settings import GateSettings, LintFileSettings, Settings, WitnessFileSettings

    yield from _INTRO.split("\n")
    fields = fields_of(Settings)
    for panel in PANELS:
        own = [_row(one) for one in fields.values() if one.setting is not None and one.setting.group == panel]
        own += [
            f"| `{name}` | mapping | Which column {_COLUMNS[name]} is which: [in {name}](#in-{name}). |"
            for name, one in fields.items()
            if one.columns is not None and next(iter(one.columns.values())).group == panel
        ]
        if own:
            yield from _table(f"## {panel}", own)
    for name, section in (("gates", GateSettings), ("lint", LintFileSettings), ("witness", WitnessFileSettings)):
        yield from _table(f"## In `{name}`", (_row(one) for one in fields_of(section).values() if one.setting))
    for name, one in fields.items():
        if one.columns is not None:
            rows = (
                f"| `{column}` | {'whole number' if column == 'header_row' else 'text'} | {cell(setting.help)} |"
                for column, setting in one.columns.items()
            )
            yield from _table(f"## In `{name}`", rows)
    yield from (MADE, "")


def _table(title: str, rows: Iterable[str]) -> Iterator[str]:
    yield from (title, "", "| setting | what is written | meaning |", "|---|---|---|", *rows, "")


def _row(field: Field) -> str:
    setting = field.setting
    assert isinstance(setting, Setting)
    kinds = _TIME if setting.is_duration else ", or ".join(dict.fromkeys(_kind(kind) for kind in field.kinds))
    return f"| `{field.name}` | {kinds} | {setting.meaning or cell(setting.help.replace('``', '`'))} |"


def _kind(kind: Any) -> str:
    """A type in words."""
    if get_origin(kind) is tuple:
        return f"list of {_KINDS[get_args(kind)[0]]}s"
    return _KINDS.get(kind, "values by metric" if get_args(kind)[1:] == (float | str,) else "mapping")
