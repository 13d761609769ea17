"""What reasoning says of two queries: they give the same answer on every database, or it cannot tell."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Proof(Struct, frozen=True, kw_only=True):
    """Two queries give the same answer on every database that honours the declared constraints."""

    rules: tuple[str, ...] = ()
    """The rules that were used on either query, in words, sorted; see ``docs/background/proof.md``."""
    up_to_rows: int | None = None
    """None: whatever the size. Otherwise a bounded check: no table has more rows than this."""
    up_to_choice: bool = False
    """One of the queries leaves open which rows it takes (LIMIT over a tie): every answer of the second is one that
    the first allows."""

    @property
    def strength(self) -> Literal["proved", "bounded"]:
        """Whether it holds for tables of any size."""
        return "proved" if self.up_to_rows is None else "bounded"

    @property
    def text(self) -> str:
        """In words."""
        size = "" if self.up_to_rows is None else f" of at most {self.up_to_rows} rows a table"
        choice = ", whichever of its tied rows a LIMIT takes" if self.up_to_choice else ""
        return f"the same answer on every database{size} that honours the declared constraints{choice}"


class Unproved(Struct, frozen=True, kw_only=True):
    """Reasoning cannot tell whether two queries are equivalent. It does not say that they differ."""

    reason: str
    """The construct that stopped it, in words."""
    where: Literal["first", "second", "both"] = "both"
    """Which of the queries it is in; ``both``: they were read, and no rule makes them one."""
    model: tuple[tuple[str, tuple[tuple[object, ...], ...]], ...] = ()
    """Tables and rows on which the solver holds them to differ: to be executed before anybody calls it a difference."""

    @property
    def text(self) -> str:
        """In words."""
        query = "" if self.where == "both" else f" in the {self.where} query"
        return f"not known: {self.reason}{query}"
