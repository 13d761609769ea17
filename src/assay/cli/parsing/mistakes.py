"""Names that people bring from other tools, and what they are called here.

Every verb and option that is suggested exists: a test compares these tables with the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

_RUN: Final = "assay run questions.jsonl --predictions predictions.jsonl --db sqlite:///shop.sqlite"
_LIVE: Final = "assay run questions.jsonl --system chat:gpt-4.1 --db sqlite:///shop.sqlite"

_VERBS: Final[Mapping[str, str]] = {
    _RUN: "evaluate eval evaluation score grade assess measure benchmark bench execute exec start bird spider accuracy",
    _LIVE: "predict ask infer inference generate answer query-model",
    f"{_RUN} --min match=80%": "test gate assert ci",
    f"{_RUN} -o runs/first --rescore": "rescore re-score reevaluate re-evaluate rerun",
    f"{_RUN} -o runs/first": "resume retry continue restart",
    "assay diff runs/main runs/new": "compare comparison versus vs delta regress regression ab",
    "assay leaderboard runs/one runs/two": "rank ranking top board standings",
    "assay runs runs": "list ls history trend log logs",
    "assay view runs/first": "show open serve ui browse dashboard web gui display inspect",
    "assay report runs/first --html report.html": "export render print summary html convert reports results save",
    "assay explain runs/first 17": "why diagnose analyze analyse debug causes errors",
    "assay review runs/first": "annotate label correct reviews feedback",
    'assay sql runs/first "SELECT case_id, outcome FROM cases"': "query select cases",
    "assay lint questions.jsonl --db sqlite:///shop.sqlite": "validate audit quality gold lint-gold validate-gold",
    "assay check 'SELECT name FROM t' @gold.sql --db sqlite:///shop.sqlite": "verify match pair one single",
    "assay refute 'SELECT a FROM t' 'SELECT DISTINCT a FROM t' --schema schema.sql": (
        "equal equivalent equivalence prove proof witness counterexample distinguish"
    ),
    "assay init questions.jsonl --db sqlite:///shop.sqlite": "config configure setup new create settings scaffold",
    "assay doctor": "info env environment status health diagnostics extras engines plugins",
    "assay demo": "sample example examples quickstart tutorial try",
    "assay docs": "guide guides manual documentation man readme",
    "assay docs metrics": "metrics metric",
    "assay --help": "help commands verbs usage",
    "assay --version": "version",
    "assay denodo --input questions.xlsx --output report.xlsx": (
        "aisdk ai-sdk vql combined-eval combined-evaluation combined-eval.py f1-eval ves-eval"
    ),
}
"""A command to copy, and the names by which people look for it."""
OTHER_VERBS: Final = {name: command for command, names in _VERBS.items() for name in names.split()}

_OPTIONS: Final[Mapping[str, str]] = {
    "--predictions": "prediction pred preds predicted predicted-sql answer answers output-file candidate responses"
    " prediction-file predictions-file predict generated",
    "--outputs": "prediction predictions pred preds answers output-file responses",
    "--prediction-column": "predicted-column pred-column sql-column answer-column",
    "--gold-column": "gold golds gold-sql gold-query reference reference-column expected expected-column ground-truth"
    " target-column",
    "--db": "database databases database-url db-url url uri connection connection-string conn conn-str dsn db-path"
    " db-dir database-path database-dir db-root db-root-path sqlite duckdb datasource engine db-uri",
    "--data": "db database observations data-url data-file csv",
    "--structures": "structure dsd codelists code-lists structure-file metadata",
    "--system": "model llm endpoint agent provider api api-url target server",
    "--min": "threshold min-score fail-under fail-below minimum at-least gate gates",
    "--output": "out output-dir outdir output-path output-folder out-dir run run-dir run-folder folder save save-to"
    " dest destination results result-dir results-dir",
    "--workers": "jobs threads processes num-workers n-workers parallel parallelism num-cpus cpus n-jobs num-threads",
    "--concurrency": "jobs threads parallel num-workers workers",
    "--limit": "max-samples num-samples num-examples n-samples samples head first max-cases sample subset top"
    " max-examples",
    "--overwrite": "force replace clean fresh delete restart",
    "--token": "api-key apikey key openai-api-key bearer auth access-token",
    "--id-column": "id ids key-column case-id id-field question-id",
    "--question-column": "question question-field question-key text-column",
    "--difficulty-column": "difficulty difficulty-col hardness level",
    "--timeout": "time-limit max-time query-timeout sql-timeout meta-time-out meta-timeout timeout-s",
    "--metrics": "metric measures scorers scorer",
    "--metric": "metrics",
    "--baseline": "baseline-run compare against compare-to compare-with previous",
    "--header": "headers http-header",
    "--html": "html-report report-html web page",
    "--xlsx": "excel workbook spreadsheet report-xlsx xls",
    "--md": "markdown comment",
    "--junit": "junit-xml xml junitxml",
    "--reviews": "review labels annotations",
    "--case-format": "format dataset-format input-format",
    "--sheet": "worksheet tab sheet-name",
    "--context-column": "evidence evidence-column evidence-col context context-col hint hint-column hints",
    "--user": "username user-name login",
    "--quiet": "silent no-progress",
    "--ordered": "order ordering",
    "--seed": "random-seed random-state",
    "--max-cases": "cases examples show-cases",
    "--input": "questions cases dataset question-file input-file",
}
_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {}
for _option, _names in _OPTIONS.items():
    for _name in _names.split():
        _SYNONYMS[f"--{_name}"] = (*_SYNONYMS.get(f"--{_name}", ()), _option)

_VALUES: Final = {
    ("--system", "--model"): "--system chat:MODEL",
    ("--system", "--llm"): "--system chat:MODEL",
    ("--min", "--threshold"): "--min {metric}=80%",
    ("--min", "--fail-under"): "--min {metric}=80%",
    ("--token", "--openai-api-key"): "the environment variable OPENAI_API_KEY",
}
"""What to write for an option, if its name alone does not say it; ``{metric}``: that of the verb's accuracy."""
_QUESTIONS: Final = (
    "--dataset --questions --question-set --question-file --questions-file --cases --input --input-file --data"
    " --gold-file"
)
"""Names of an option for the question set, which is an argument here."""
_RESUME: Final = ("--resume", "--continue", "--restart-from")

_CLOSE: Final = 0.72
_FILES: Final = ".jsonl .json .csv .tsv .xlsx .xls .txt .sql .parquet .yaml .yml .ndjson"


def verb_hint(name: str, known: Sequence[str], *, is_root: bool) -> str | None:
    """What to write instead of a verb that does not exist; None if nothing is close."""
    plain = name.lower().replace("_", "-")
    if plain in known:
        return f"did you mean {plain!r}?"
    if is_root and plain in OTHER_VERBS:
        return _in_place_of(plain)
    close = get_close_matches(plain, [*known, *(OTHER_VERBS if is_root else ())], n=1)
    if not close:
        return None
    return f"did you mean {close[0]!r}?" if close[0] in known else _in_place_of(close[0])


def _in_place_of(name: str) -> str:
    command = OTHER_VERBS[name]
    verb = shlex.split(command)[1]
    if verb.startswith("-"):
        return f"write  {command}"
    return f"did you mean {verb!r}? For example:  {command}"


def option_hint(given: str, long: Sequence[str], *, arguments: Sequence[str] = ()) -> str:
    """`` (did you mean …?)`` with the options of a verb that an unknown one may stand for; nothing if none is close.

    ``arguments`` are what the verb takes by position.
    """
    plain = f"--{given.lstrip('-').lower().replace('_', '-')}"
    if plain != given and plain in long:
        return f" (did you mean {plain}?)"
    if plain in _RESUME and "--rescore" in long:
        return " (the same command resumes a run that was interrupted)"
    if plain in (*_QUESTIONS.split(), "--gold") and "CASES" in arguments:
        return " (the question set is given by position: write it first, without an option)"
    if meant := [option for option in _SYNONYMS.get(plain, ()) if option in long]:
        metric = "exact_match" if "--structures" in long else "match"
        said = " or ".join(_VALUES.get((option, plain), option).format(metric=metric) for option in meant)
        return f" (did you mean {said}?)"
    if plain in ("--md", "--markdown") and "--sarif" in long:
        return " (lint writes --html FILE, --sarif FILE and --json FILE; for Markdown:  assay run … --lint --md FILE)"
    begun = [name for name in long if name.startswith(plain)] if given.startswith("--") else []
    close = begun[:3] or get_close_matches(plain, long, n=1, cutoff=_CLOSE)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def word_with_one_dash(typed: Sequence[str], long: Sequence[str]) -> str | None:
    """The first word with one dash that names a long option, e.g. ``-db`` of ``-db URL``."""
    for word in typed:
        name = word.partition("=")[0]
        if name.startswith("-") and not name.startswith("--") and len(name) > len("-x"):
            plain = f"-{name.lower().replace('_', '-')}"
            if plain in long or any(option in long for option in _SYNONYMS.get(plain, ())):
                return name
    return None


def extra_word_hint(rest: Sequence[str], context: Any, typed: Sequence[str]) -> str | None:
    """What was probably meant by a word too many: a second file, a URL, a second run. None if it is not plain."""
    from assay.cli.crash import without_secrets

    word, verb = rest[0], context.command_path
    options = [name for one in context.command.params for name in one.opts]
    if (short := word_with_one_dash(typed, options)) is not None:
        return f"{verb} has no option {short}{option_hint(short, options)}"
    before = [str(value) for value in context.params.values() if isinstance(value, Path) and str(value) in typed][:1]
    if (verb_word := _other_verb([*before, *rest], typed)) is not None:
        words = list(typed)
        words.remove(verb_word)
        return f"leave out {verb_word!r}: write  {without_secrets(shlex.join([*verb.split(), *words]), ())}"
    if "://" in word and "--db" in options:
        return f"a database is given by an option: write  --db {without_secrets(word, ())}"
    file = _behind_json(typed)
    if file and Path(file).suffix and (file == word or context.command.name == "report"):
        fitting = shlex.quote(str(Path(file).with_suffix(".json")))
        return f"{Path(file).suffix} is not a suffix of JSON: write  --json {without_secrets(fitting, ())}"
    if context.command.name == "report" and _is_run(word):
        return f"to compare two runs, write  assay diff {shlex.join([*before, word])}"
    if not _is_file(word):
        return None
    for option in ("--predictions", "--outputs", "--input"):
        if option in options:
            db = " --db sqlite:///shop.sqlite" if "--db" in options and not _has(typed, "--db") else ""
            command = " ".join([verb, *map(shlex.quote, before), option, shlex.quote(word)])
            what = {"--predictions": "predictions are", "--outputs": "outputs are", "--input": "the input is"}[option]
            return f"{what} given by an option: write  {command}{db}"
    return None


def _behind_json(typed: Sequence[str]) -> str:
    """The word behind ``--json -``, into which a ``--json`` is turned that another existing file follows."""
    places = (at + 2 for at in range(len(typed) - 2) if list(typed[at : at + 2]) == ["--json", "-"])
    return next((typed[at] for at in places), "")


def _other_verb(words: Sequence[str], typed: Sequence[str]) -> str | None:
    """A verb of another tool among the words, which name no file."""
    found = (word for word in words if word.lower() in OTHER_VERBS and word in typed and not Path(word).exists())
    return next(found, None)


def _has(typed: Sequence[str], option: str) -> bool:
    return any(word.partition("=")[0] == option for word in typed)


def _is_run(word: str) -> bool:
    return Path(word).name == "run.json" or (Path(word) / "run.json").exists()


def _is_file(word: str) -> bool:
    path = Path(word)
    try:
        return path.suffix.lower() in _FILES.split() or path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no path can have
        return False
