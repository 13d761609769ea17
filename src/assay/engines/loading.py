"""Load engines by the scheme of a URL. Imports no engine and little else, for the process of a run."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from assay.errors import PluginError, UsageError
from assay.model import DatabaseUrl
from assay.ports import EngineClass

ANY_SCHEME = "*"
"""Among the engines: a function that names the class for any other scheme, or None."""


def engine_for(url: DatabaseUrl, references: Mapping[str, str]) -> EngineClass:
    """The engine of a URL among those of an `Executor`. Raises UsageError if there is none for its scheme."""
    reference = references.get(url.scheme)
    if reference is None and ANY_SCHEME in references:
        reference = _load(references[ANY_SCHEME])(url.scheme)
    if reference is None:
        names = ", ".join(sorted(references.keys() - {ANY_SCHEME})) or "none"
        raise UsageError(f"no engine is registered for {url.scheme!r} URLs ({url}): available are {names}")
    return load_engine(reference)


def load_engine(reference: str) -> EngineClass:
    """The class that ``module:Class`` names. Raises PluginError if it cannot be loaded."""
    engine_class: EngineClass = _load(reference)
    return engine_class


def _load(reference: str) -> Any:
    module_name, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"the engine {reference!r} cannot be loaded: {error}") from error
