"""sqlglot's node types, imported on first use: ``exp.Column``.

Importing sqlglot takes longer than scoring many cases that need no tree. An import statement in each function that
needs a type would be executed at each call, thousands of times per case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp
else:

    class _Nodes:
        def __getattr__(self, name: str) -> Any:
            from sqlglot import exp as nodes

            kind = getattr(nodes, name)
            setattr(self, name, kind)
            return kind

    exp = _Nodes()

__all__ = ["exp"]
