"""Markdown on a terminal, by rich: nothing of a table is cut, and code can be copied."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, TableElement
from rich.text import Text


class _Table(TableElement):
    """A table whose words are broken where they do not fit; rich would cut them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            for column in table.columns:  # type: ignore[union-attr]
                column.overflow = "fold"
            yield table


class _Code(CodeBlock):
    """Code on lines of its own, however long; rich would break them."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip(), style=self.style_name, no_wrap=True, overflow="ignore")


class TerminalMarkdown(Markdown):
    """A text in Markdown."""

    elements: ClassVar = {**Markdown.elements, "table_open": _Table, "fence": _Code, "code_block": _Code}
