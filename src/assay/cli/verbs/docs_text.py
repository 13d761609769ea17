"""A page of the documentation as text: prose and tables within a width, code as it is.

Nothing is cut and no word is broken: what a reader types stays whole, even if it is wider than the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from msgspec import Struct

from assay.reports.text.plain import columns_of

_GAP = "  "
_BLANK = "\N{NO-BREAK SPACE}"
"""A blank at which no line ends."""
_CODE, _STRONG, _TITLE = "\ue000", "\ue001", "\ue002"
"""Signs around a styled text; they take no column, and a terminal shows colours instead."""
STYLES = {_CODE: "cyan", _STRONG: "bold", _TITLE: "bold"}
_SIGNS = re.compile(f"[{''.join(STYLES)}]")


class _Marks(Struct, frozen=True):
    """What stands around code, strong text and the number signs of a title."""

    code: str
    strong: str
    title: str


_PLAIN = _Marks("`", "**", "")
_DRAWN = _Marks(_CODE, _STRONG, _TITLE)


def page_lines(markdown: str, *, width: int, drawn: bool) -> list[str]:
    """The lines of a page. ``drawn``: with signs for styles in place of Markdown's (`styled`)."""
    tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(markdown))
    return [line.replace(_BLANK, " ") for line in _Page(_DRAWN if drawn else _PLAIN).blocks(tree.children, width)]


def styled(line: str) -> Iterator[tuple[str, str]]:
    """The pieces of a drawn line, each with its style; '' is plain."""
    style = ""
    for piece in re.split(f"({_SIGNS.pattern})", line):
        if piece in STYLES:
            style = "" if style else STYLES[piece]
        elif piece:
            yield piece, style


class _Page:
    """Blocks of Markdown as lines."""

    def __init__(self, marks: _Marks) -> None:
        self._marks = marks
        self._drawn = marks is _DRAWN

    def blocks(self, nodes: Iterable[SyntaxTreeNode], width: int, *, tight: bool = False) -> Iterator[str]:
        """The lines of blocks, a blank line between two unless they are ``tight``."""
        for place, node in enumerate(nodes):
            if place and not tight:
                yield ""
            yield from self._block(node, width)

    def _block(self, node: SyntaxTreeNode, width: int) -> Iterator[str]:
        match node.type:
            case "heading":
                signs = "" if self._drawn else "#" * int(node.tag[1:]) + " "
                yield signs + self._around(self._inline(node), self._marks.title)
            case "fence" | "code_block":
                code = node.content.rstrip("\n").split("\n")
                yield from [f"{_GAP}{line}" for line in code] if self._drawn else [f"```{node.info}", *code, "```"]
            case "bullet_list" | "ordered_list":
                yield from self._list(node, width)
            case "blockquote":
                yield from (f"> {line}" for line in self.blocks(node.children, width - 2))
            case "table":
                yield from self._table(node, width)
            case "hr":
                yield "---"
            case "html_block":
                yield from node.content.rstrip("\n").split("\n")
            case _:
                yield from _wrapped(self._inline(node), width)

    def _list(self, node: SyntaxTreeNode, width: int) -> Iterator[str]:
        tight = all(child.type != "paragraph" or child.hidden for item in node.children for child in item.children)
        first = int(node.attrs.get("start", 1))
        for place, item in enumerate(node.children):
            if place and not tight:
                yield ""
            bullet = "- " if node.type == "bullet_list" else f"{first + place}. "
            lines = self.blocks(item.children, width - len(bullet), tight=tight)
            for number, line in enumerate(lines):
                yield f"{' ' * len(bullet) if number else bullet}{line}".rstrip()

    def _table(self, node: SyntaxTreeNode, width: int) -> Iterator[str]:
        """Columns whose cells wrap; a list of ``header: cell`` if the longest words do not fit side by side."""
        head, *rows = [
            [self._inline(cell) for cell in row.children] for section in node.children for row in section.children
        ]
        least = [max(_widest_word(row[column]) for row in (head, *rows)) for column in range(len(head))]
        natural = [max(_columns(row[column]) for row in (head, *rows)) for column in range(len(head))]
        room = width - len(_GAP) * (len(head) - 1)
        if sum(least) > room:
            yield from self._records(head, rows, width)
            return
        sizes = _shared(least, natural, room)
        yield from self._row([self._around(cell, self._marks.title) for cell in head], sizes)
        yield _GAP.join("─" * size for size in sizes)
        for row in rows:
            yield from self._row(row, sizes)

    def _row(self, cells: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
        columns = [list(_wrapped(cell, size)) for cell, size in zip(cells, sizes, strict=True)]
        for place in range(max(map(len, columns))):
            line = [
                lines[place] + " " * (size - _columns(lines[place])) if place < len(lines) else " " * size
                for lines, size in zip(columns, sizes, strict=True)
            ]
            yield _GAP.join(line).rstrip()

    def _records(self, head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
        """A list for each row: its first cell, then the others under their headers."""
        for place, row in enumerate(rows):
            if place:
                yield ""
            for number, (title, cell) in enumerate(zip(head, row, strict=True)):
                text = f"{title}: {cell}" if title and number else cell or title
                if cell or not number:
                    yield from _wrapped(text, width, first=_GAP if number else "", rest=_GAP * 2)

    def _inline(self, node: SyntaxTreeNode) -> str:
        """The text of a node in one line; code keeps its blanks together."""
        match node.type:
            case "text" | "html_inline":
                return node.content
            case "code_inline":
                return self._around(node.content, self._marks.code).replace(" ", _BLANK)
            case "softbreak" | "hardbreak":
                return " "
            case "image":
                return f"[image: {node.content}]"
        text = "".join(self._inline(child) for child in node.children)
        if node.type == "strong":
            return self._around(text, self._marks.strong)
        if node.type == "link":
            target = str(node.attrs["href"])
            return text if target in (text, f"mailto:{text}") or ":" not in target else f"{text} ({target})"
        return text

    def _around(self, text: str, mark: str) -> str:
        """The text within a mark; a drawn one keeps the styles within, and does not go over a line's end."""
        if not self._drawn or not mark:
            return f"{mark}{text}{mark}"
        parts = re.split(f"({_CODE}[^{_CODE}]*{_CODE}|[ ])", text)
        return "".join(one if not one or one == " " or one[0] in STYLES else f"{mark}{one}{mark}" for one in parts)


def _columns(text: str) -> int:
    return columns_of(_SIGNS.sub("", text))


def _widest_word(text: str) -> int:
    return max(map(_columns, text.split(" ")))


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> Iterator[str]:
    """The text over lines of ``width`` columns; a longer word has a line of its own."""
    current, is_empty = first, True
    for word in text.split(" "):
        if not is_empty and _columns(current) + 1 + _columns(word) > width:
            yield current
            current, is_empty = rest, True
        current, is_empty = f"{current}{'' if is_empty else ' '}{word}", False
    yield current


def _shared(least: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """The widths of columns: each its natural one, or the widest shrink to what fits, none below its least."""
    sizes = list(natural)
    while sum(sizes) > room:
        widest = max(range(len(sizes)), key=lambda place: (sizes[place] > least[place], sizes[place]))
        sizes[widest] -= 1
    return sizes
