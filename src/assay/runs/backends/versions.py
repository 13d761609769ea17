"""Whether a node judges as this machine does: by the versions that are installed on both."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from assay._version import __version__
from assay.errors import InputError


def versions_here() -> dict[str, str | None]:
    """What is installed on this machine."""
    return {"Assay": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


def check_versions(here: Mapping[str, str | None], there: Mapping[str, str | None], node: str) -> None:
    """Raise InputError where a node has other versions, naming both."""
    for name, wanted in here.items():
        found = there.get(name)
        if found is None:
            raise InputError(f"{name} is not installed on {node}: install {name} {wanted} there, as in the run's image")
        if found != wanted:
            raise InputError(
                f"{node} has {name} {found}, and {name} {wanted} started the run: their verdicts could differ, so use "
                "one image, or one environment, for all"
            )
