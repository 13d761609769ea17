"""The data that selections are executed on, and the dimensions that the comparison ignores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from assay.errors import InputError, MissingDependency, UsageError
from assay.model import Case
from assay.sdmx.data.files import load_data
from assay.sdmx.data.observations import DataSource
from assay.sdmx.errors import suggestion
from assay.sdmx.structures.known import DatasetStructure, Structures


def open_data(
    data: str | os.PathLike[str] | None, structures: Structures | None, *, language: str, verify_ssl: bool
) -> DataSource | None:
    """Open the source of observations: files, which are read at once, or a service. Raises InputError."""
    if data is None:
        return None
    named = os.fspath(data)
    if not is_service(named):
        return load_data(named, structures=structures)
    from assay.sdmx.data.rest import RestSource
    from assay.systems.http.fetching import ServiceFetcher

    fetcher = ServiceFetcher(named, verify_ssl=verify_ssl)
    return RestSource(fetcher.url, fetcher, name=fetcher.name, structure_of=_Known(named, structures, language))


def is_service(source: str) -> bool:
    """Whether a source is the address of a service."""
    return source.lower().startswith(("http://", "https://"))


class _Known:
    """The structure of a dataset: from the given structures, else from the data's own service."""

    def __init__(self, service: str, structures: Structures | None, language: str) -> None:
        self._service = service
        self._structures = structures
        self._language = language
        self._fetched: dict[str, DatasetStructure | None] = {}

    def __call__(self, dataset: str) -> DatasetStructure | None:
        found = self._structures.dataset(dataset) if self._structures is not None else None
        if found is not None and found.dimensions:
            return found
        if dataset not in self._fetched:
            self._fetched[dataset] = self._fetch(dataset)
        return self._fetched[dataset]

    def _fetch(self, dataset: str) -> DatasetStructure | None:
        from assay.sdmx.structures.load import load_structures

        try:
            return load_structures([self._service], language=self._language, optional=[dataset]).dataset(dataset)
        except (InputError, MissingDependency):
            return None  # a data service may have no structures: the requests that need them say so


def digest_of_data(data: str | os.PathLike[str] | None) -> str:
    """A digest that tells whether data files have changed; for a service only its address is known."""
    if data is None:
        return ""
    digest = blake2b(digest_size=12)
    path = Path(data)
    if is_service(os.fspath(data)) or not path.exists():
        digest.update(os.fsencode(data))
    else:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                stat = file.stat()
                digest.update(f"{file.relative_to(path)}|{stat.st_size}|{stat.st_mtime_ns}\n".encode())
    return f" {digest.hexdigest()}"


def check_ignored(names: Sequence[str], cases: Sequence[Case], structures: Structures | None) -> None:
    """Raise UsageError for a dimension to ignore that neither a target nor a structure has."""
    if isinstance(names, str):
        raise UsageError(f"ignore_dimensions is the text {names!r}: give a list of names")
    known = {
        one.dimension
        for case in cases
        for turn in case.turns
        for target in turn.targets
        for dataset in target.datasets
        for one in dataset.dimensions
    } | {"TIME_PERIOD"}
    for dataset in structures.datasets if structures is not None else ():
        known |= {one.id for one in dataset.dimensions} | {dataset.time_dimension or "TIME_PERIOD"}
    for name in names:
        if name not in known:
            raise UsageError(
                f"the dimension {name!r} is to be ignored, and no target{' or structure' if structures else ''} "
                f"has it (known: {', '.join(sorted(known)[:12])}){suggestion(name, known)}"
            )
