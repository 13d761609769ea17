"""A fast reader of the plain part of YAML that case files are written in.

It takes block mappings and lists with plain and quoted scalars, nothing else, and gives up (`Unusual`)
at the first sign of anything more: anchors, tags, flow mappings, literal blocks, repeated keys, broken
syntax. What it takes, it reads as ruamel does (tests hold the two against each other); what it does not,
the careful reader reads, and words the error. Runs of ``- id: … / name: …`` are matched as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache

from assay.cases.sdmx.target import TermCache, without_repeats
from assay.cases.sdmx.values import Null
from assay.model import Term

NULLS = frozenset({"null", "Null", "NULL", "~"})
UNUSUAL_CHARACTERS = re.compile(
    r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Anything beside these (tabs, carriage returns, other line separators) is left to the careful reader."""

_REST = r"[^:#\n]*(?:(?::(?![ \n])|(?<! )#)[^:#\n]*)*(?<! )"
_PLAIN = r"(?:[^ \-?:,\[\]{}#&*!|>'\"%@`\n]|-(?=[A-Za-z0-9]))" + _REST
_MORE = r"[^ #:?\-\n]" + _REST
_SINGLE = r"'(?:[^'\n]|'')*'"
_DOUBLE = r'"(?:[^"\\\n]|\\[^\n])*"'

_SCALAR = re.compile(rf"(?:({_PLAIN})|({_SINGLE})|({_DOUBLE}))\n")
_CONTINUED = re.compile(rf"( *){_MORE}\n")
_LONG_QUOTE = re.compile(r"""('(?:[^'\n]|''|\n(?! *\n))*'|"(?:[^"\\\n]|\\[^\n]|\\?\n(?! *\n))*")\n""")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?: +|(?=\n))")
_SKIP = re.compile(r"(?: *(?:#[^\n]*)?\n)*")
_SPACES = re.compile(r" *")
_FLOW_LIST = re.compile(r"\[ *((?:[A-Za-z0-9_][A-Za-z0-9_.\-]*(?:, *(?=[A-Za-z0-9_]))?)*) *\]\n")
_FOLD = re.compile(r" *\n *")
_ESCAPE = re.compile(r" *\n *|\\(?:\n *|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^\n])")
_ESCAPED = {**dict(zip("0abtnvfre", "\0\a\b\t\n\v\f\r\x1b", strict=True)), **{one: one for one in ' "/\\'}}


class Unusual(Exception):
    """The text holds more than this reader takes: the careful one is to read it."""


class RawTerms(dict[tuple[str, str], Term]):
    """Terms by their code and name as they are written in the file, quotes and line breaks included."""

    def __init__(self, cache: TermCache) -> None:
        super().__init__()
        self.cache = cache

    def __missing__(self, written: tuple[str, str]) -> Term:
        id_ = _text(written[0])
        name = None if written[1] in NULLS else _text(written[1]).strip() or None
        if not id_.strip() or id_ == "*":
            raise Unusual
        term = self[written] = self.cache.term(id_.strip(), name)
        return term


def block_value(text: str, terms: RawTerms) -> object:
    """The value of a YAML text, scalars as texts or Null, runs of terms as tuples. Raises Unusual."""
    if UNUSUAL_CHARACTERS.search(text):
        raise Unusual
    block = _Block(text if text.endswith("\n") else text + "\n", terms)
    column = block.peek()
    if column < 0:
        raise Unusual
    try:
        value = block.node(column)
    except RecursionError:
        raise Unusual from None
    if block.peek() >= 0:
        raise Unusual
    return value


class _Block:
    """One text, and how far it is read."""

    def __init__(self, text: str, terms: RawTerms) -> None:
        self.text = text
        self.terms = terms
        self.at = 0

    def peek(self) -> int:
        """Go to the next character that is no space, line end or comment: its column, -1 at the end."""
        self.at = self._end(_SKIP)
        self.at = self._end(_SPACES)
        return self.at - self.text.rfind("\n", 0, self.at) - 1 if self.at < len(self.text) else -1

    def _end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return found.end() if found else self.at

    def node(self, column: int) -> object:
        """The list or mapping that begins here."""
        return self._list(column) if self.text.startswith("- ", self.at) else self._mapping(column)

    def _list(self, column: int) -> list[object]:
        items: list[object] = []
        while self.text.startswith("- ", self.at):
            self.at += 1
            begin = self.at
            self.at = self._end(_SPACES)
            within = column + 1 + self.at - begin
            items.append(self._mapping(within) if _KEY.match(self.text, self.at) else self._scalar(column))
            here = self.peek()
            if here < column:
                break
            if here > column:
                raise Unusual
        return items

    def _mapping(self, column: int) -> dict[str, object]:
        held: dict[str, object] = {}
        while True:
            found = _KEY.match(self.text, self.at)
            if found is None or found[1] in held:
                raise Unusual
            self.at = found.end()
            held[found[1]] = self._under(found[1], column)
            here = self.peek()
            if here < column:
                return held
            if here > column:
                raise Unusual
            if self.text.startswith("- ", self.at):
                return held  # of the list that this mapping is within, or nobody's: the caller sees

    def _under(self, key: str, column: int) -> object:
        if not self.text.startswith("\n", self.at):
            return self._scalar(column)
        after = self.at + 1
        here = self.peek()
        if here < column or (here == column and not self.text.startswith("- ", self.at)):
            self.at = after - 1
            return Null()
        if key == "values" and self.at == after + here:
            run = self._terms(after, here)
            if run is not None:
                return run
        return self.node(here)

    def _terms(self, start: int, column: int) -> tuple[Term, ...] | None:
        """A whole list of terms at once; None where it is none, or is not written that plainly."""
        deeper, item = _patterns(column)
        found = deeper.match(self.text, start)
        if found is None:
            return None
        # Between the terms stands nothing, where the whole stretch is terms.
        parts = item.split(found[0])
        if len(parts) == 1 or any(parts[::3]):
            return None
        before = self.at
        self.at = found.end()
        here = self.peek()
        if here > column or (here == column and self.text.startswith("- ", self.at)):
            self.at = before
            return None
        terms = self.terms
        return without_repeats([terms[pair] for pair in zip(parts[1::3], parts[2::3], strict=True)])

    def _scalar(self, column: int) -> object:
        """The scalar that begins here; its further lines stand deeper than ``column``."""
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            return self._rare(column)
        self.at = found.end()
        written = found[1]
        if written is None:
            return _text(found[2] or found[3])
        lines = [written]
        while (more := _CONTINUED.match(self.text, self.at)) and more.end(1) - more.start() > column:
            lines.append(more.group().strip(" \n"))
            self.at = more.end()
        if len(lines) > 1:
            return " ".join(lines)
        return Null(written) if written in NULLS else written

    def _rare(self, column: int) -> object:
        """An empty list or mapping, a flow list of words, a quoted scalar of several lines."""
        for written, value in (("[]\n", list[object]()), ("{}\n", dict[str, object]())):
            if self.text.startswith(written, self.at):
                self.at += len(written)
                return value
        found = _FLOW_LIST.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            words = [word.strip() for word in found[1].split(",") if word.strip()]
            return [Null(word) if word in NULLS else word for word in words]
        found = _LONG_QUOTE.match(self.text, self.at)
        if found is None:
            raise Unusual
        lines = found[1].split("\n")[1:]
        if any(len(line) - len(line.lstrip(" ")) <= column for line in lines):
            raise Unusual
        self.at = found.end()
        return _text(found[1])


@lru_cache(maxsize=64)
def _patterns(column: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What matches the lines of a list at this column, and one term of it."""
    short = rf"{_PLAIN}|{_SINGLE}|{_DOUBLE}"
    long = rf"{_PLAIN}(?:\n {{{column + 3},}}{_MORE})*|{_SINGLE}|{_DOUBLE}"
    indent = " " * column
    lines = rf"(?:{indent}(?:- |  )[^\n]*\n)+"
    return re.compile(lines), re.compile(rf"{indent}- id: ({short})\n{indent}  name: ({long})\n")


def _text(written: str) -> str:
    """The text of a scalar as it is written, quoted or plain."""
    if written[0] == "'":
        return _FOLD.sub(" ", written[1:-1].replace("''", "'")) if "\n" in written else written[1:-1].replace("''", "'")
    if written[0] == '"':
        return _ESCAPE.sub(_unescaped, written[1:-1]) if "\\" in written or "\n" in written else written[1:-1]
    return _FOLD.sub(" ", written) if "\n" in written else written


def _unescaped(found: re.Match[str]) -> str:
    written = found[0]
    if written[0] != "\\":
        return " "
    if written[1] == "\n":
        return ""
    if written[1] in "xuU" and len(written) > 2:
        number = int(written[2:], 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise Unusual
        return chr(number)
    if written[1] not in _ESCAPED:
        raise Unusual
    return _ESCAPED[written[1]]
