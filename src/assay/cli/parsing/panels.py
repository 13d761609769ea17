"""The groups in which a verb's options stand in its help: the groups and the options most used first.

An option has one group whatever the verb, save those in `_OF_VERB`, which mean something else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

OTHER: Final = "Other options"

PANELS: Final[dict[str, tuple[str, ...]]] = {
    "Answers": (
        "--predictions",
        "--outputs",
        "--generated-col",
        "--prediction-column",
        "--prediction-id-column",
        "--prediction-format",
        "--prediction-sheet",
        "--prediction-encoding",
        "--decision-column",
        "--confidence-column",
        "--allow-unmatched",
        "--ignore-questions",
        "--extract",
    ),
    "Queries": ("--sql", "--gold", "--question", "--schema", "--dialect", "--only", "--keep-comments"),
    "Database": (
        "--db",
        "--gold-db",
        "--structures",
        "--data",
        "--catalog-url",
        "--execution-url",
        "--server-id",
        "--host",
        "--port",
        "--database",
        "--db-config",
        "--config",
    ),
    "The run": ("--output", "--run", "--overwrite", "--rescore", "--name", "--tag"),
    "The folder": ("--cases", "--metric"),
    "Reports": (
        "--html",
        "--md",
        "--xlsx",
        "--junit",
        "--to",
        "--json",
        "--csv",
        "--latex",
        "--sarif",
        "--test",
        "--sql",
        "--history",
        "--cases",
        "--mlflow",
        "--experiment",
        "--save-report",
        "--show-mismatches",
        "--max-mismatches",
        "--f1-output",
        "--ves-output",
        "--output-original",
        "--merge",
        "--quiet",
    ),
    "Gates": (
        "--min",
        "--min-accuracy",
        "--max-drop",
        "--fail-on-regression",
        "--must-pass",
        "--baseline",
        "--alpha",
        "--fail-on",
    ),
    "Rules": ("--only", "--ignore", "--with", "--dialect", "--rules", "--all"),
    "Questions": (
        "--input",
        "--questions",
        "--limit",
        "--question-rows",
        "--case-format",
        "--id-column",
        "--question-column",
        "--gold-column",
        "--db-column",
        "--difficulty-column",
        "--context-column",
        "--answerable-column",
        "--sheet",
        "--header-row",
        "--encoding",
        "--version",
        "--workdir",
    ),
    "Live systems": (
        "--system",
        "--api-url",
        "--model",
        "--user",
        "--password",
        "--token",
        "--api-username",
        "--api-password",
        "--concurrency",
        "--repeat",
        "--param",
        "--header",
        "--ask-timeout",
        "--retries",
        "--verify-ssl",
        "--data-catalog-verify-ssl",
        "--prompt",
        "--query-tool",
        "--show-prompt",
        "--body",
        "--query-path",
        "--tokens-path",
        "--times-path",
        "--decision-path",
        "--confidence-path",
        "--price-in",
        "--price-out",
    ),
    "The judge": (
        "--calibrate",
        "--labels",
        "--samples",
        "--one-order",
        "--temperature",
        "--no-cache",
        "--retry-refusals",
    ),
    "Metrics and comparison": (
        "--metrics",
        "--as-denodo",
        "--ordered",
        "--columns",
        "--extra-columns",
        "--duplicates",
        "--case",
        "--shape",
        "--tolerance",
        "--relative-tolerance",
        "--absolute-tolerance",
        "--penalty",
        "--match-on",
        "--count-hierarchy",
        "--ignore-dimension",
        "--language",
        "--ves",
        "--ves-iterations",
        "--ves-budget",
    ),
    "Limits": (
        "--timeout",
        "--gold-timeout",
        "--comparison-timeout",
        "--max-rows",
        "--max-memory",
        "--untried",
        "--workers",
        "--backend",
        "--cache",
        "--cache-size",
    ),
    "Evidence": ("--witness", "--witness-time", "--witness-total", "--scratch", "--suite", "--lint"),
    "Search": ("--seconds", "--rows", "--seed", "--databases", "--neighbours", "--keeps"),
    "Statistics": ("--confidence", "--power", "--resamples", "--alpha", "--seed"),
}

_OF_VERB: Final[dict[str, dict[str, str]]] = {
    "doctor": {"--user": "Database", "--password": "Database", "--token": "Database"},
    "check": {"--user": "Database", "--password": "Database", "--token": "Database"},
    "diff": {"--metric": "Statistics", "--alpha": "Statistics"},
    "judge": {"--output": "Reports", "--cache": "The judge", "--only": "Queries"},
    "leaderboard": {"--metric": "Statistics", "--alpha": "Statistics", "--cases": "The folder"},
    "lint": {"--dialect": "Rules", "--only": "Rules"},
    "refute": {"--sql": "Reports", "--seed": "Search"},
    "runs": {"--cases": "The folder", "--name": "The folder", "--tag": "The folder"},
    "build": {"--seed": "Search", "--output": "The suite", "--overwrite": "The suite"},
    "show": {"--database": OTHER},
    "view": {"--port": OTHER},
}
"""Options that mean something else in a verb than elsewhere."""

_PLACES: Final = {name: (panel, place) for panel, names in reversed(PANELS.items()) for place, name in enumerate(names)}
_ORDER: Final = (*PANELS, "The suite", OTHER)


def panel_of(verb: str | None, options: Sequence[str]) -> str:
    """The group of an option, by its names."""
    return next((found for one in options if (found := _panel_of(verb, one))), OTHER)


def _panel_of(verb: str | None, option: str) -> str | None:
    special = _OF_VERB.get(verb or "", {}).get(option)
    return special or (_PLACES[option][0] if option in _PLACES else None)


def place_of(panel: str, options: Sequence[str]) -> tuple[int, int]:
    """Where an option of this group stands: by the group, then by its place in it."""
    names = PANELS.get(panel, ())
    places = [names.index(one) for one in options if one in names]
    return (_ORDER.index(panel) if panel in _ORDER else len(_ORDER), min(places, default=len(names)))
