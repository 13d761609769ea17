"""Pages of the Python API: every public name with its signature and docstring, read off the sources."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from command_pages import MADE
from msgspec import Struct

from assay.cli.verbs.docs import docs_folder, find_page

_WIDTH = 120
_PACKAGES = {
    "ragas": ("assay.ragas", "ragas' SQL metrics"),
    "llmsql": ("assay.llmsql", "The LLMSQL benchmark"),
    "testing": ("assay.testing", "Emulated servers"),
    "conformance": ("assay.testing.conformance", "Checks for authors of plug-ins"),
    "ports": ("assay.ports", "What a plug-in implements"),
}
_OF_PLUGINS = (
    "AsksAboutDatabases",
    "CaseFormat",
    "Column",
    "CountingReporter",
    "DescribesSchema",
    "Engine",
    "EngineClass",
    "Executions",
    "LoadedCases",
    "LoadedPredictions",
    "MakesScratchInMemory",
    "MakesScratchOnServer",
    "Metric",
    "QueryRequest",
    "Reporter",
    "ScratchDatabase",
    "StreamingReporter",
    "System",
    "TellsContent",
    "TimedMetric",
)
"""What classes of other packages are held to, of all that `assay.ports` has."""
_PLAIN_BASES = ("Exception", "Generic", "Protocol", "Struct")
_PARTS = {
    "functions": ("Functions", "What one calls: import them from `assay`."),
    "classes": (
        "Classes",
        "What one gives and gets: import them from `assay`. Values are frozen: they hash and pickle.",
    ),
    "errors": (
        "Exceptions",
        "Whatever Assay raises on purpose is an `AssayError`. What fails of one case is never raised.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A public name with the place in the sources that defines it."""

    name: str
    value: Any
    node: ast.AST | None
    module: Any


def python_pages() -> dict[str, str]:
    """The pages by the name of their file."""
    names = _public("assay")
    parts = {part: [one for one in names if _part(one) == part] for part in _PARTS}
    pages = {part: _page(title, said, parts[part], tree=part == "errors") for part, (title, said) in _PARTS.items()}
    index = ["# The Python API", "", _paragraphs(import_module("assay").__doc__ or ""), "", MADE, ""]
    for part, (title, _) in _PARTS.items():
        index += _listed(f"[{title}]({part}.md)", f"{part}.md", parts[part])
    for part, (package, title) in _PACKAGES.items():
        own = _public(package)
        pages[part] = _page(f"`{package}`", import_module(package).__doc__ or "", own, tree=False)
        index += _listed(f"[`{package}`]({part}.md): {title}", f"{part}.md", own)
    return {"README.md": "\n".join(index), **{f"{part}.md": text for part, text in pages.items()}}


def _public(package: str) -> list[Named]:
    module = import_module(package)
    names = _OF_PLUGINS if package == "assay.ports" else [name for name in module.__all__ if name != "__version__"]
    return [_named(name, getattr(module, name), module) for name in names]


def _part(one: Named) -> str:
    if isinstance(one.value, type):
        return "errors" if issubclass(one.value, BaseException) else "classes"
    return "functions"


def _named(name: str, value: Any, module: Any) -> Named:
    home = inspect.getmodule(value) if isinstance(value, type) or inspect.isfunction(value) else None
    if home is None:  # an alias, such as a Literal: where the package has it from
        home = next(found for found in _sources_of(module) if name in _definitions(found))
    return Named(name=name, value=value, node=_definitions(home).get(name), module=home)


def _sources_of(module: Any) -> Iterator[Any]:
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assay"):
            yield import_module(node.module)


@cache
def _definitions(module: Any) -> dict[str, ast.AST]:
    """What a module defines at its top: functions, classes, and names that a text stands below."""
    body = ast.parse(Path(inspect.getsourcefile(module) or "").read_text(encoding="utf-8")).body
    found: dict[str, ast.AST] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def _listed(title: str, page: str, names: list[Named]) -> list[str]:
    rows = [
        f"| [`{one.name}`]({page}#{one.name.lower()}) | {_first_line(one).replace('|', chr(92) + '|')} |"
        for one in names
    ]
    return [f"## {title}", "", "| name | what it is |", "|---|---|", *rows, ""]


def _first_line(one: Named) -> str:
    if defined := _other_name(one):
        return f"The earlier name of `{defined}`."
    return _markdown((_doc(one) or "").strip().split("\n\n")[0].replace("\n", " "))


def _other_name(one: Named) -> str:
    """What a function is called where it is defined, if that is another name."""
    return one.value.__name__ if inspect.isfunction(one.value) and one.value.__name__ != one.name else ""


def _doc(one: Named) -> str:
    if isinstance(one.node, ast.Assign | ast.AnnAssign):
        return text_below(ast.parse(inspect.getsource(one.module)).body, one.name)
    return inspect.getdoc(one.value) or ""


def _page(title: str, said: str, names: list[Named], *, tree: bool) -> str:
    lines = [f"# {title}", "", _paragraphs(said), ""]
    if tree:
        drawn = re.search(r"\n( +AssayError\n.*?)\n\n", import_module("assay.errors").__doc__ or "", re.S)
        lines += ["```text", inspect.cleandoc(drawn[1]) if drawn else "", "```", ""]
    for one in names:
        lines += _entry(one)
    return "\n".join([*lines, MADE, ""])


def _entry(one: Named) -> Iterator[str]:
    yield from (f"## `{one.name}`", "")
    if defined := _other_name(one):
        yield from (f"The earlier name of [`{defined}`](#{defined.lower()}), kept for callers.", "")
    elif isinstance(one.node, ast.ClassDef):
        yield from _class(one, one.node)
    elif isinstance(one.node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _function(one.node)
    else:
        choices = _values(one.value)
        yield from (" ".join([*([f"One of {choices}."] if choices else []), *_doc(one).split()]), "")
        checks = (
            [part for part in one.value if callable(getattr(part, "run", None))] if isinstance(one.value, tuple) else []
        )
        yield from (_item(f"`{check.name}`", inspect.getdoc(check.run) or "") for check in checks)
        yield from [""] if checks else []


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    marks = [f"@{mark}" for mark in map(ast.unparse, node.decorator_list) if mark in ("classmethod", "staticmethod")]
    yield from ("<!-- example: signature -->", "```python", *marks, _signature(node), "```", "")
    doc = ast.get_docstring(node)
    if doc:
        yield from (_paragraphs(doc), "")


def _class(one: Named, node: ast.ClassDef) -> Iterator[str]:
    bases = [written for base in node.bases if (written := ast.unparse(base)).partition("[")[0] not in _PLAIN_BASES]
    if bases:
        yield from (f"A kind of {', '.join(f'`{base}`' for base in bases)}.", "")
    doc = ast.get_docstring(node)
    if doc:
        yield from (_paragraphs(doc), "")
    methods = _methods(one)
    made = next((part for part in methods if part.name == "__init__"), None)
    if made is not None:
        yield from ("<!-- example: signature -->", "```python", _signature(made, of_class=one.name), "```", "")
        told = ast.get_docstring(made)
        if told:
            yield from (_paragraphs(told), "")
    elif issubclass(one.value, Struct) or _is_protocol(node):
        yield from _fields(one, node)
    shown = [part for part in methods if not part.name.startswith("_") and ast.get_docstring(part)]
    properties = [part for part in shown if _is_property(part)]
    if properties:
        yield from ("What it also knows:", "")
        for part in properties:
            returns = f": {ast.unparse(part.returns)}" if part.returns else ""
            yield _item(f"`{part.name}{_quotes(returns)}`", ast.get_docstring(part) or "")
        yield ""
    for part in shown:
        if part not in properties:
            yield from (f"### `{one.name}.{part.name}`", "")
            yield from _function(part)


def _methods(one: Named) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Its own methods, and those of bases that are no public names themselves."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for base in one.value.__mro__:
        public = base is not one.value and base.__name__ in import_module("assay").__all__
        node = None if public else _definitions_of(base).get(base.__name__)
        for part in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(part.name, part)
    return list(found.values())


def _definitions_of(base: type) -> dict[str, ast.AST]:
    return _definitions(inspect.getmodule(base)) if base.__module__.startswith("assay.") else {}


def _fields(one: Named, node: ast.ClassDef) -> Iterator[str]:
    found = [
        part
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and not part.target.id.startswith("_")
    ]
    for part in found:
        name, written = part.target.id, ast.unparse(part.annotation)  # type: ignore[union-attr]
        if written.startswith("ClassVar"):
            continue
        default = _default(part.value)
        told = text_below(node.body, name)
        choices = _choices(one.module, written)
        known = f"One of {choices}." if choices else ""
        yield _item(f"`{name}: {_quotes(written)}{default}`", " ".join(text for text in (told, known) if text))
    if found:
        yield ""


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) == "Protocol" for base in node.bases)


def _item(code: str, told: str) -> str:
    first = _markdown(" ".join(told.split()))
    return f"- {code}: {first}" if first else f"- {code}"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {word.arg: word.value for word in value.keywords}
        if "default_factory" in given:
            made = ast.unparse(given["default_factory"])
            return f" = {made}()" if made.isidentifier() else ""
        value = given.get("default")
    return f" = {_quotes(ast.unparse(value))}" if value is not None else ""


def _choices(module: Any, annotation: str) -> str:
    """The values of an alias such as `Outcome` that a field's type names."""
    for name in re.findall(r"\b[A-Z]\w+", annotation):
        alias = vars(module).get(name)
        if typing.get_origin(alias) is typing.Literal:
            return _values(alias)
    return ""


def _values(alias: Any) -> str:
    return ", ".join(f"`{value}`" for value in typing.get_args(alias))


def text_below(body: list[ast.stmt], name: str) -> str:
    """The text that stands below the line which defines a name."""
    for part, after in zip(body, [*body[1:], None], strict=True):
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return inspect.cleandoc(str(after.value.value))
            return ""
    return ""


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(mark) for mark in node.decorator_list)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, of_class: str = "") -> str:
    """As one would write it, formatted as this project's code is; a constructor within its class."""
    given = node.args
    parts = [_argument(one, None) for one in given.posonlyargs]
    if parts:
        parts.append("/")
    defaults = [None] * (len(given.args) - len(given.defaults)) + [*given.defaults]
    parts += [_argument(one, default) for one, default in zip(given.args, defaults, strict=True)]
    if given.vararg:
        parts.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(f"**{_argument(given.kwarg, None)}")
    if not of_class and parts[:1] in (["self"], ["cls"]):
        parts = parts[1:]
    before = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_quotes(ast.unparse(node.returns))}" if node.returns else ""
    indent = "    " if of_class else ""
    written = f"{indent}{before} {node.name}({', '.join(parts)}){returns}: ..."
    if len(written) > _WIDTH:
        inner = "".join(f"{indent}    {part},\n" for part in parts)
        written = f"{indent}{before} {node.name}(\n{inner}{indent}){returns}: ..."
    return f"class {of_class}:\n{written}" if of_class else written


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    written = f"{argument.arg}: {_quotes(ast.unparse(argument.annotation))}" if argument.annotation else argument.arg
    if default is None:
        return written
    return f"{written} {'= ' if argument.annotation else '='}{_quotes(ast.unparse(default))}"


def _quotes(code: str) -> str:
    """Texts in double quotes, as the house writes them."""
    return re.sub(r"'([^'\"\\]*)'", r'"\1"', code)


def _paragraphs(doc: str) -> str:
    """A docstring as Markdown: what is indented in it is code already, but for lists as `Raises:` begins them."""
    blocks = re.split(r"\n{2,}", inspect.cleandoc(doc))
    return "\n\n".join(block if block.startswith("    ") else _markdown(_list(block)) for block in blocks)


def _list(block: str) -> str:
    """A block of a title and indented entries, each with its own deeper lines, as a list; any other as it is."""
    title, *lines = block.split("\n")
    if not title.endswith(":") or not lines or not all(line.startswith("    ") for line in lines):
        return block
    entries = re.split(r"\n(?=\S)", inspect.cleandoc("\n".join(lines)))
    told = (" ".join(entry.split()) for entry in entries)
    return "\n".join([title, "", *(re.sub(r"^([\w.]+): ", r"- `\1`: ", entry) for entry in told)])


def _markdown(text: str) -> str:
    """Topics that a docstring names become links; nothing in it is taken for HTML."""
    text = re.sub(r"`assay docs ([\w/-]+)`", _link, text.replace("``", "`"))
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"<(?=[A-Za-z/!])", r"\\<", part) for part in parts)


def _link(found: re.Match[str]) -> str:
    page = find_page(docs_folder(), found[1]).relative_to(docs_folder())
    return f"[{page.stem}](../../{page.as_posix()})"
