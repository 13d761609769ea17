"""What a notebook shows of a value: a little HTML without scripts, styles or classes that could meet the page's own.

Colours are few and of middle brightness, and text keeps the page's own colour, so that it reads on light and on dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_CHARACTERS = 200
_COLOURS = {"good": "#2e9e5b", "bad": "#d1495b", "open": "#8a8f98"}
_CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;background:transparent;color:inherit"


def escaped(value: object, *, limit: int = _MOST_CHARACTERS) -> str:
    """A text or a cell, escaped, with marks for what would not show or would steer the reader's eye; cut if long."""
    from html import escape

    if value is None:
        return "<i>NULL</i>"
    text = value if isinstance(value, str) else repr(value) if isinstance(value, (bytes, float)) else str(value)
    cut = f"… +{len(text) - limit:,}" if len(text) > limit else ""
    marked = "".join(one if one.isprintable() or one == "\n" else f"⟨U+{ord(one):04X}⟩" for one in text[:limit])
    return escape(marked + cut)


def block(title: str, lines: Iterable[str] = (), tables: Iterable[str] = (), *, mood: str = "open") -> str:
    """A title over lines and tables; the title and the lines are plain text, the tables HTML. ``mood``: its colour."""
    colour = _COLOURS[mood]
    body = "".join(f"<div>{escaped(line, limit=1000)}</div>" for line in lines)
    return (
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;color:inherit;background:transparent">'
        f"<div><b>{escaped(title, limit=1000)}</b></div>{body}{''.join(tables)}</div>"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Cells of any kind under their columns; without columns no head."""
    head = "".join(f'<th style="{_CELL};border-bottom:1px solid">{escaped(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escaped(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if columns else ""
    return f'<table style="border-collapse:collapse;margin:4px 0;color:inherit">{top}<tbody>{body}</tbody></table>'
