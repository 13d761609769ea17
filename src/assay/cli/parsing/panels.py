"""The groups in which a verb's options stand in its help: the groups and the options most used first.

An option has one group whatever the verb, save those in `_OF_VERB`, which mean something else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from assay.settings import declarations
from assay.settings.setting import (
    ANSWERS,
    COMPARISON,
    DATABASE,
    EVIDENCE,
    GATES,
    LIMITS,
    LINT,
    LIVE,
    QUESTIONS,
    RUN,
)

OTHER: Final = "Other options"

PANELS: Final[dict[str, tuple[str, ...]]] = {
    ANSWERS: ("--outputs",),
    "Queries": ("--sql", "--gold", "--question", "--schema", "--dialect", "--only", "--keep-comments"),
    DATABASE: (
        "--structures",
        "--data",
        "--catalog-url",
        "--execution-url",
        "--server-id",
        "--host",
        "--port",
        "--database",
        "--db-config",
    ),
    RUN: ("--run", "--overwrite", "--rescore"),
    "The folder": ("--cases", "--metric"),
    "Reports": (
        "--html",
        "--md",
        "--full",
        "--xlsx",
        "--junit",
        "--report",
        "--json",
        "--csv",
        "--latex",
        "--sarif",
        "--test",
        "--sql",
        "--history",
        "--max-cases",
        "--full",
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
    GATES: ("--min-accuracy", "--fail-on"),
    LINT: ("--only", "--ignore", "--runs", "--dialect", "--rules"),
    QUESTIONS: ("--input", "--questions", "--version", "--workdir"),
    LIVE: (
        "--api-url",
        "--model",
        "--password",
        "--token",
        "--api-username",
        "--api-password",
        "--data-catalog-verify-ssl",
        "--show-prompt",
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
    "Labels": ("--reviews", "--next", "--queue", "--declare-random", "--unlabelled", "--settle"),
    "Signals": ("--judge", "--beside"),
    COMPARISON: (
        "--as-denodo",
        "--ordered",
        "--match-on",
        "--count-hierarchy",
        "--ignore-dimension",
        "--language",
        "--ves",
    ),
    LIMITS: ("--untried",),
    EVIDENCE: (),
    "Statistics": ("--confidence", "--power", "--resamples", "--alpha", "--seed"),
    "Search": ("--seconds", "--rows", "--seed", "--databases", "--neighbours", "--preserve"),
}
"""The groups, each with its options that are not settings; those of settings come first."""

_REQUESTS: Final = (
    "--concurrency",
    "--param",
    "--header",
    "--system-timeout",
    "--retries",
    "--verify-ssl",
    "--price-in",
    "--price-out",
)
"""Options of requests, which go to a model that is not the system under test."""

_OF_VERB: Final[dict[str, dict[str, str]]] = {
    "doctor": {"--user": "Database", "--password": "Database", "--token": "Database"},
    "check": {"--user": "Database", "--password": "Database", "--token": "Database"},
    "diff": {"--metric": "Statistics", "--alpha": "Statistics"},
    "estimate": dict.fromkeys(("--seed", "--compare", "--target"), "Labels")
    | dict.fromkeys(("--token", *_REQUESTS), "Signals"),
    "judge": {"--output": "Reports", "--only": "Queries"}
    | dict.fromkeys(("--cache", "--prompt", "--show-prompt", "--model", "--token", *_REQUESTS), "The judge"),
    "leaderboard": {"--metric": "Statistics", "--by": "Statistics", "--cases": "The folder"},
    "lint": {"--dialect": LINT, "--only": LINT},
    "refute": {"--sql": "Reports", "--seed": "Search"},
    "runs": {"--cases": "The folder", "--name": "The folder", "--tag": "The folder"},
    "build": {"--seed": "Search", "--output": "The suite", "--overwrite": "The suite"},
    "show": {"--database": OTHER},
    "view": {"--port": OTHER},
}
"""Options that mean something else in a verb than elsewhere."""

USUAL: Final = {
    verb: tuple(names.split())
    for verb, names in {
        "init": "--predictions --system --db --output --run --id-column --question-column --gold-column"
        " --db-column --prediction-column --sheet --header-row --overwrite",
        "run": "--predictions --system --db --output --id-column --question-column --gold-column --prediction-column"
        " --metrics --limit --timeout --witness --baseline --min --reviews --html --xlsx --md --json --full",
        "denodo": "--input --output --api-url --catalog-url --user --password --token --question-rows"
        " --gold-column --no-ves --as-denodo --run --html --baseline --min --fail-on-regression",
        "sdmx": "--predictions --system --token --structures --data --output --match-on --ignore-dimension"
        " --count-hierarchy --limit --min --rescore --xlsx --html --md --json",
        "llmsql": "--questions --db --workdir --version --output --save-report --max-mismatches --timeout --min --html"
        " --json",
        "judge": "--model --sql --gold --schema --dialect --output --calibrate --labels --samples --prompt"
        " --show-prompt --limit --token --json",
        "estimate": "--db --reviews --judge --beside --compare --next --queue --output --target --declare-random"
        " --prediction-column --md --json",
        "review": "--confirm --accept --reject --gold-wrong --gold --ambiguous --unanswerable --unsure --undo --note"
        " --reviews --reviewer --minutes --list --agreement --export",
        "check": "--db --columns --ordered --extra-columns --duplicates --case --tolerance --timeout --witness --json",
        "lint": "--db --runs --only --ignore --rules --full --fail-on --html --sarif --json --timeout",
        "report": "--html --md --xlsx --json --junit --report --reviews --history --min --max-drop --fail-on-regression"
        " --must-pass --baseline --full",
        "diff": "--html --md --json --max-cases --full --reviews --metric --min --max-drop --fail-on-regression"
        " --must-pass --alpha --confidence",
        "leaderboard": "--metric --cases --html --md --xlsx --json --csv --latex --full --reviews --confidence --alpha"
        " --by",
        "refute": "--db --schema --dialect --seconds --seed --rows --scratch --test --sql --json",
        "build": "--output --db --databases --neighbours --preserve --seconds --seed --overwrite",
    }.items()
}
"""The options that ``--help`` shows of a verb with many; ``--help-all`` shows all."""

_EARLIER: Final = ("--to", "--with", "--keeps")
_PANEL_OF: Final = {name: panel for panel, names in reversed(PANELS.items()) for name in names}
_ORDER: Final = (*PANELS, "The suite", OTHER)


@cache
def _settings() -> dict[str, tuple[str, int]]:
    """The options of settings, each with its group and its place among all."""
    return {
        name: (setting.group, place)
        for place, (_, setting) in enumerate(declarations())
        if setting.option is not None
        for name in setting.option.split("/")
    }


@cache
def earlier_names() -> tuple[str, ...]:
    """The names that options had before, which work and are not shown."""
    return (*_EARLIER, *(name for _, setting in declarations() for name in setting.old if name.startswith("--")))


def panel_of(verb: str | None, options: Sequence[str]) -> str:
    """The group of an option, by its names."""
    return next((found for one in options if (found := _panel_of(verb, one))), OTHER)


def _panel_of(verb: str | None, option: str) -> str | None:
    special = _OF_VERB.get(verb or "", {}).get(option)
    return special or _settings().get(option, (None, 0))[0] or _PANEL_OF.get(option)


def place_of(panel: str, options: Sequence[str]) -> tuple[int, int]:
    """The position of an option: by its group, then within it, settings first."""
    names = PANELS.get(panel, ())
    most = len(_settings())
    places = [_settings()[one][1] for one in options if one in _settings()]
    places += [most + names.index(one) for one in options if one in names]
    return (_ORDER.index(panel) if panel in _ORDER else len(_ORDER), min(places, default=most + len(names)))
