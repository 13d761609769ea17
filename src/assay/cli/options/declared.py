"""The options of the verbs: those of settings, made from their declarations, and those that several verbs share.

A verb takes settings as one parameter, `Settings`; `Only` names those that are its options. Other options that belong
together form a group, a frozen Struct. `parsed` gives the parser one option per field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_type_hints

import click
from msgspec import Struct
from msgspec.structs import replace

from assay.cli.options.stored_runs import A_RUN, run_folders
from assay.cli.parsing.panels import OTHER
from assay.cli.parsing.parameters import Declared, UnfitValue, option, parameter
from assay.errors import UsageError, did_you_mean
from assay.model import FieldNames
from assay.model.databases.database import ENGINES
from assay.settings import Settings
from assay.settings.setting import DURATION, MOST_SECONDS, Field, Setting, fault_of_path, fields_of
from assay.settings.values import check_engine

if TYPE_CHECKING:
    from assay.api.inputs import FileOptions

CONCURRENCY: Final = 4

Penalty: TypeAlias = Annotated[
    list[float] | None,
    option(metavar="C", help="Penalty of an incorrect answer in the reliability score. Can be repeated."),
]
Overwrite: TypeAlias = Annotated[bool, option("--overwrite", help="Discard an existing run in the folder.")]
Rescore: TypeAlias = Annotated[
    bool, option("--rescore", help="Re-score the stored answers without calling the system.")
]
Password: TypeAlias = Annotated[
    str | None,
    option(metavar="TEXT", help="Password. Prefer ASSAY_PASSWORD; prompts if not set.", show_default=False),
]
Token: TypeAlias = Annotated[
    str | None, option(metavar="TEXT", help="Bearer token or API key. Prefer ASSAY_TOKEN.", show_default=False)
]

Html: TypeAlias = Annotated[Path | None, option(metavar="FILE", help="Write a self-contained HTML file.")]
Markdown: TypeAlias = Annotated[
    Path | None, option(metavar="FILE", help="Write Markdown for a pull request; - prints it.")
]
Workbook: TypeAlias = Annotated[Path | None, option(metavar="FILE", help="Write an Excel workbook.")]
Junit: TypeAlias = Annotated[Path | None, option(metavar="FILE", help="Write JUnit XML for a CI server.")]
JsonFile: TypeAlias = Annotated[
    Path | None, option("--json", metavar="FILE", help="Write JSON for programs; - (default) prints it.")
]
To: TypeAlias = Annotated[
    list[str] | None,
    option("--report", "--to", metavar="NAME=FILE", help="Write a report in a named format. Can be repeated."),
]
ReviewsFile: TypeAlias = Annotated[
    Path | None,
    option("--reviews", metavar="FILE", help="People's reviews. Default: the run's own file."),
]
Full: TypeAlias = Annotated[bool, option("--full", help="Print everything, not only a summary of one screen.")]
Quiet: TypeAlias = Annotated[bool, option("--quiet", "-q", help="Suppress progress.")]


class ReportFlags(Struct, frozen=True, kw_only=True):
    """The reports of a run, each a path, or ``-`` for standard output."""

    html: Html = None
    md: Markdown = None
    xlsx: Workbook = None
    junit: Junit = None
    json: JsonFile = None
    to: To = None
    full: Full = False

    def targets(self, **others: Path | None) -> dict[str, Path | None]:
        """The paths by format, with those of ``others`` and of ``--report``. Call it before any work is done.

        Raises UsageError for a malformed pair and for a format with two files, InputError for an unknown format.
        """
        given = {name: getattr(self, name) for name in ("html", "md", "xlsx", "junit", "json")} | others
        return with_named(given, self.to)


def with_named(targets: Mapping[str, Path | None], to: Sequence[str] | None) -> dict[str, Path | None]:
    """The files of each format, with those that ``--report NAME=FILE`` names. Call it before any work is done.

    Raises UsageError for a malformed pair and for a format with two files, InputError for an unknown format.
    """
    from assay import registry

    found = dict(targets)
    for text in to or ():
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path):
            raise UsageError(f"--report {text!r}: write NAME=FILE, e.g. html=report.html")
        registry.reporter(name)  # a plugin that cannot load fails now, not after an hour
        if (other := found.get(name)) is not None:
            raise UsageError(f"the report {name} is to be written twice, to {other} and to {path}: name one file")
        found[name] = Path(path)
    return found


_Given = TypeVar("_Given")


class Only(Struct, frozen=True):
    """Which settings are options of a verb, by their names or those of whole groups of columns."""

    names: tuple[str, ...] | None = None
    """None: all."""
    without: tuple[str, ...] = ()
    renamed: dict[str, tuple[str, ...]] = {}
    """Other names of the options, for a verb that uses those of another tool."""
    helps: dict[str, str] = {}
    """Help texts of the verb's own."""

    def has(self, *names: str) -> bool:
        """Whether a setting of one of these names is an option of the verb."""
        return (self.names is None or bool(set(names) & {*self.names, *self.renamed})) and not set(names) & set(
            self.without
        )


class _Option(Struct, frozen=True):
    """One option of a setting."""

    path: tuple[str, ...]
    """The setting's name; of a column, that of the group before it."""
    field: Field
    setting: Setting
    names: tuple[str, ...]

    @property
    def parameter_name(self) -> str:
        return "_".join(("setting", *self.path))

    @property
    def has_several_names(self) -> bool:
        """Whether it has several long names, which could be given different values."""
        return sum(name.startswith("--") for name in self.names) > 1

    def parameter(self, verb: str) -> click.Parameter:
        """As the parser takes it."""
        kind = next((kind for kind in self.field.kinds if kind in (bool, int, float)), str)
        if self.field.is_list and not self.setting.with_commas:
            kind = list[float] if any(get_args(one)[:1] == (float,) for one in self.field.kinds) else list[str]
        elif self.has_several_names or self.field.is_text_or_mapping:
            kind = list[kind]  # type: ignore[valid-type]
        declared = option_of(
            self.setting,
            *self.names,
            *(name for name in self.setting.old if name.startswith("--")),
            panel=None if self.names == self.setting.names else self.setting.group,
        )
        return parameter(verb, self.parameter_name, kind, None, declared)

    def value(self, given: Any) -> Any:
        """What the setting gets from what was typed. Raises UsageError for a word that it does not know."""
        if given is None or (given is False and "/" not in (self.setting.option or "")):
            return None
        if self.field.is_list:
            return tuple(
                (part.strip() for part in given.split(",") if part.strip()) if self.setting.with_commas else given
            ) or (() if self.setting.with_commas else None)
        if self.field.is_text_or_mapping:
            return by_engine(given, self.names[-1])
        if self.has_several_names:
            given = once(given, *(name for name in self.names if name.startswith("--")))
        if self.setting.is_path and (fault := fault_of_path(given)):
            raise UsageError(f"{self.names[-1]} {fault}: give a path")
        if self.setting.words and given is not None and given not in self.setting.words:
            raise UsageError(f"{self.names[-1]} is {given!r}: write {' or '.join(map(repr, self.setting.words))}")
        return given


_OF_ENGINE = re.compile(r"([A-Za-z][\w+.-]*)=(.*)", re.DOTALL)


def by_engine(given: Sequence[str], option: str) -> str | dict[str, str] | None:
    """The one URL, the last of several of one kind, or the URL of each engine: ``sqlite=URL``.

    Raises UsageError for both, for URLs of several kinds, and for an engine that is given twice.
    """
    pairs = [found.groups() for text in given if (found := _OF_ENGINE.fullmatch(text.strip()))]
    if not pairs:
        if len({text.partition(":")[0].lower() for text in given}) > 1:
            raise UsageError(
                f"{option} is given {len(given)} times: give one URL, or name the engine of each, as "
                f"{option} sqlite=URL {option} snowflake=URL"
            )
        return given[-1] if given else None
    engines = [engine.lower() for engine, _ in pairs]
    if len(pairs) < len(given):
        raise UsageError(f"{option} needs the engine of every URL: write {option} ENGINE=URL for each")
    if twice := next((engine for engine in engines if engines.count(engine) > 1), None):
        raise UsageError(f"{option} is given {engines.count(twice)} times for {twice}: write {option} {twice}=URL once")
    for engine, url in zip(engines, (url for _, url in pairs), strict=True):
        if engine not in ENGINES and "://" not in url and len(given) == 1:
            raise UsageError(
                f"{option} is given a driver's connection string: write a URL, for example  "
                f"{option} 'postgresql://USER:PASSWORD@HOST/DATABASE'"
            )
        if engine not in ENGINES and not did_you_mean(engine, ENGINES) and len(given) == 1:
            raise UsageError(f"{option} {engine}=…: write the URL alone, without {engine}=")
        check_engine(engine)
    return {engine: url for engine, (_, url) in zip(engines, pairs, strict=True)}


def once(given: Sequence[_Given] | None, *names: str) -> _Given | None:
    """The one value of an option that has several names. Raises UsageError if their values differ."""
    values = list(dict.fromkeys(given or ()))
    if len(values) > 1:
        said = " and ".join(map(repr, values))
        raise UsageError(f"{' and '.join(names)} are one option with different values, {said}: give it once")
    return values[0] if values else None


def _options_of(only: Only | None) -> Iterator[_Option]:
    """The options of the settings, in the order of their declarations."""
    for name, field in fields_of(Settings).items():
        columns = field.columns or {}
        declared: list[tuple[tuple[str, ...], Field, Setting]] = [
            ((name, column), fields_of(FieldNames)[column], setting) for column, setting in columns.items()
        ]
        if field.setting is not None:
            declared.append(((name,), field, field.setting))
        for path, own, setting in declared:
            key = ".".join(path)
            if setting.option is None or (only is not None and not only.has(key, name)):
                continue
            help = None if only is None else only.helps.get(key)
            names = setting.names if only is None else only.renamed.get(key, setting.names)
            yield _Option(path, own, setting if help is None else replace(setting, help=help), names)


def _settings(options: Sequence[_Option], given: dict[str, Any]) -> Settings:
    """The settings that were typed; what belongs to them is taken out of ``given``."""
    values: dict[str, Any] = {}
    columns: dict[str, dict[str, Any]] = {}
    for setting in options:
        value = setting.value(given.pop(setting.parameter_name))
        if len(setting.path) == 1:
            values[setting.path[0]] = value
        else:
            columns.setdefault(setting.path[0], {})[setting.path[1]] = value
    values |= {name: FieldNames(**names) for name, names in columns.items()}
    return Settings(**values)


def typed(declared: type[Any], name: str, *names: str, help: str | None = None) -> Declared:
    """The option of a declared setting, for a verb or a group that takes it in a form of its own."""
    setting = fields_of(declared)[name].setting
    if setting is None or setting.option is None:
        raise LookupError(f"{declared.__name__}.{name} is not an option")
    return option_of(setting if help is None else replace(setting, help=help), *names)


def duration_option(name: str, help: str, *, least: float = 0.01, panel: str | None = None) -> Declared:
    """The option of a duration that is not a setting of a run."""
    setting = Setting(name, panel or OTHER, help, DURATION, least=least, most=MOST_SECONDS)
    return option_of(setting, show_default=True, panel=panel)


def option_of(setting: Setting, *names: str, show_default: bool = False, panel: str | None = None) -> Declared:
    """The option of a setting's declaration, under its own names or others."""

    def seconds(written: object) -> float:
        duration = setting.seconds(written)
        if duration is None:
            raise UnfitValue(setting.durations)
        return duration

    return option(
        *(names or setting.names),
        metavar=setting.metavar,
        help=setting.help,
        least=setting.least,
        most=setting.most,
        read=seconds if setting.is_duration else None,
        show_default=show_default,
        panel=panel,
    )


def file_options(settings: Settings, difficulty_names: tuple[tuple[str, str], ...] = ()) -> FileOptions:
    """How the files of the settings are read and joined."""
    from assay.api.inputs import FileOptions

    return FileOptions(**settings.given(FileOptions.__struct_fields__), difficulty_names=difficulty_names)


def check_one_source(settings: Settings) -> None:
    """Raise UsageError if answers come both from a file and from a live system."""
    if settings.predictions is not None and settings.system is not None:
        raise UsageError("--predictions and --system were both given: give one of them")


def parsed(verb: Callable[..., None]) -> tuple[list[click.Parameter], Callable[..., None]]:
    """The parser's parameters of a verb, and the verb as the parser calls it, with a value of each.

    Each field of a group and each setting is a parameter of its own.
    """
    parameters: list[click.Parameter] = []
    readers: dict[str, Callable[[dict[str, Any]], Any]] = {}
    """What makes an argument of the verb from the values of its parameters, and takes these away."""
    hints = get_type_hints(verb, include_extras=True)
    for argument in signature(verb).parameters.values():
        kind, *marks = get_args(hints[argument.name]) or (hints[argument.name],)
        if kind is Settings:
            options = list(_options_of(next((mark for mark in marks if isinstance(mark, Only)), None)))
            parameters += [setting.parameter(verb.__name__) for setting in options]
            readers[argument.name] = partial(_settings, options)
        elif isinstance(kind, type) and issubclass(kind, Struct):
            fields = get_type_hints(kind, include_extras=True)
            parameters += [_parameter(verb, field, fields[field.name]) for field in signature(kind).parameters.values()]
            readers[argument.name] = partial(_group, kind)
        else:
            parameters.append(_parameter(verb, argument, hints[argument.name]))
            if A_RUN in marks:
                readers[argument.name] = partial(_run_folders, argument.name)

    def call(**values: Any) -> None:
        arguments = {name: read(values) for name, read in readers.items()}
        verb(**values, **arguments)

    return parameters, call


def _parameter(verb: Callable[..., None], argument: Parameter, hint: Any) -> click.Parameter:
    kind, *marks = get_args(hint)
    declared = next(mark for mark in marks if isinstance(mark, Declared))
    default = ... if argument.default is Parameter.empty else argument.default
    return parameter(verb.__name__, argument.name, kind, default, declared)


def _group(kind: type[Any], values: dict[str, Any]) -> Any:
    return kind(**{field: values.pop(field) for field in kind.__struct_fields__})


def _run_folders(name: str, values: dict[str, Any]) -> Any:
    return run_folders(values.pop(name))
