"""What the doctor finds, as values that are drawn or printed as JSON."""

from __future__ import annotations

from msgspec import Struct


class Package(Struct, frozen=True, kw_only=True):
    """An installed package, or one that is wanted."""

    name: str
    wanted: str
    """The versions that Assay requires, e.g. ``>=1.4``; empty for any."""
    version: str | None
    """None: it is not installed."""
    fits: bool
    """Installed, and of a version that is asked for."""


class Extra(Struct, frozen=True, kw_only=True):
    """One of Assay's extras."""

    name: str
    gives: str
    packages: tuple[Package, ...]
    install: str | None
    """The command that installs what is missing; None if nothing is."""

    @property
    def works(self) -> bool:
        """Whether all of it is there."""
        return self.install is None


class EngineFact(Struct, frozen=True, kw_only=True):
    """One engine and the URL schemes it takes."""

    schemes: tuple[str, ...]
    version: str | None
    install: str | None = None
    """The command that installs what it needs; None if it works."""
    trouble: str | None = None


class Protection(Struct, frozen=True, kw_only=True):
    """One limit, and whether it holds on this machine."""

    name: str
    holds: bool
    tried: str
    """What was tried, and the result; for the operating system, what it does or what happens without it."""


class Machine(Struct, frozen=True, kw_only=True):
    """What the machine has for queries."""

    python: str
    platform: str
    cores: int
    memory_bytes: int | None
    temporary_folder: str
    temporary_bytes: int


class Reached(Struct, frozen=True, kw_only=True):
    """What a database's URL leads to."""

    url: str
    reached: bool
    trouble: str | None = None
    engine: str | None = None
    """What speaks to a server, and its version; None for a file."""
    read_only_file: bool = False
    """A file, which is opened in a way that nothing can write to it."""
    server: str | None = None
    """The version that the database says of itself."""
    rights: tuple[str, ...] = ()
    """What the account may do beyond reading, each a sentence."""
    rights_known: bool = False
    reader_grants: tuple[str, ...] = ()
    """The statements that make an account that may only read; none if the engine does not name them."""
    tables: tuple[str, ...] | None = None
    """None: they cannot be listed."""
    outside: tuple[str, ...] | None = None
    """Queries that reach files, the network or extensions, each with what it does. None: not tried, since the engine is
    Assay's own."""


class Findings(Struct, frozen=True, kw_only=True):
    """All of it."""

    assay: str
    machine: Machine
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    engines: tuple[EngineFact, ...]
    plugins: tuple[str, ...]
    """The plug-ins of other packages, and whether they load."""
    protections: tuple[Protection, ...]
    """Tried by queries that run into them."""
    operating_system: tuple[Protection, ...]
    reached: tuple[Reached, ...]
