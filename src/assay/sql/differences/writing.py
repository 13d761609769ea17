"""Write trees as text for comparing them: `plain_text`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.sql.trees import written

if TYPE_CHECKING:
    from sqlglot import exp


def plain_text(node: exp.Expr) -> str:
    """A tree as text in no engine's own dialect, the same for equal trees.

    As ``node.sql()``, which copies the tree and makes a generator first: a diagnosis asks for a thousand such texts,
    nearly all of them columns, literals and comparisons of these.
    """
    kind = node.key
    if kind == "column":
        name, table = node.args.get("this"), node.args.get("table")
        if table is not None and node.args.get("db") is None and _is_plain(name) and _is_plain(table):
            return f"{table.this}.{name.this}"  # type: ignore[union-attr]
    elif kind == "literal" and not node.comments and not (node.args.get("is_string") and _needs_escape(node.this)):
        return f"'{node.this}'" if node.args.get("is_string") else str(node.this)
    return written(node)


def _needs_escape(text: str) -> bool:
    return "'" in text or "\\" in text


def _is_plain(name: object) -> bool:
    key, text = getattr(name, "key", ""), getattr(name, "this", "")
    if key != "identifier" or name.args.get("quoted") or name.comments:  # type: ignore[attr-defined]
        return False
    return bool(text.isidentifier())
