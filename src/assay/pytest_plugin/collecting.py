"""Case files as collectors. Kept light, since pytest makes one for every case file it sees, even if it runs none."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from assay.errors import AssayError

_SUFFIXES = (".assay.yaml", ".assay.yml")


def is_settings(name: str) -> bool:
    """Whether a file of this name contains settings, with its cases or their path."""
    return name.lower().endswith(_SUFFIXES)


class AssayFile(pytest.Module):
    """A file of cases. It is a Module, as pytest's doctest files are, so that fixtures of every scope have a node."""

    obj = None

    def collect(self) -> Iterable[pytest.Item]:
        """An item per case, in the file's order."""
        from assay.pytest_plugin.building import items_of

        try:
            return items_of(self, holds_settings=is_settings(self.name))
        except AssayError as error:
            raise self.CollectError(str(error)) from error
