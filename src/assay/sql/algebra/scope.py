"""Which column a name means."""

from __future__ import annotations

from msgspec import Struct, field

from assay.sql.algebra.model import Col, Source, Term
from assay.sql.algebra.stopping import NotCovered
from assay.sql.algebra.world import World


class Entry(Struct):
    """What one item of a FROM offers: its alias, and its columns in order."""

    alias: str
    columns: list[tuple[str, Term]]
    hidden: set[str] = field(default_factory=set)
    """Columns that USING or NATURAL merged into another item's."""


class Scope(Struct):
    """The names of one level, and of the levels round it."""

    world: World
    entries: list[Entry] = field(default_factory=list)
    parent: Scope | None = None
    aliases: dict[str, Term] = field(default_factory=dict)
    """The outputs' aliases, where they may be named."""
    ctes: dict[str, object] = field(default_factory=dict)

    def find(self, name: str, table: str = "") -> Term | None:
        """The column of that name; None where there is none. Raises NotCovered where it is ambiguous."""
        name, table = name.lower(), table.lower()
        found = [
            term
            for entry in self.entries
            if not table or entry.alias == table
            for column, term in entry.columns
            if column == name and (table or name not in entry.hidden)
        ]
        if len(found) > 1:
            raise NotCovered(f"the ambiguous column {name}")
        if found:
            return found[0]
        if not table and name in self.aliases:
            return self.aliases[name]
        return None if self.parent is None else self.parent.find(name, table)

    def cte(self, name: str) -> object | None:
        """The common table expression of that name."""
        if name in self.ctes:
            return self.ctes[name]
        return None if self.parent is None else self.parent.cte(name)


def entry_of(source: Source, alias: str, names: list[str], world: World) -> Entry:
    """A source under its alias, its columns under ``names``."""
    places = world.columns(source)
    return Entry(
        alias.lower(), [(name.lower(), Col(source.id, place)) for name, place in zip(names, places, strict=True)]
    )
