"""Fetch the structures of datasets from an SDMX REST service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from urllib.parse import quote

import httpx
from msgspec import Struct

from assay.errors import InputError, UsageError
from assay.model.databases.mistyped import web_fault_of
from assay.platform.certificates import tls_context
from assay.sdmx.errors import NoStructures
from assay.sdmx.structures.catalogue import Catalogue, Index
from assay.sdmx.structures.documents import MOST_BYTES, add_document
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import shown_source

TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""In seconds, for connecting, and for each wait for further bytes of an answer."""
TOTAL_S = 300.0
"""After that no further request is made."""
_ABSENT = frozenset({404, 501})
"""The statuses of services without that artefact, or without that kind of artefact."""


class _Edition(Struct, frozen=True, kw_only=True):
    """How one edition of the REST interface requests an artefact."""

    path: str
    any_agency: str
    newest: str
    media: str


_EDITIONS = (
    _Edition(path="", any_agency="all", newest="latest", media="2.1"),
    _Edition(path="/structure", any_agency="*", newest="~", media="3.0.0"),
)


def add_service(
    catalogue: Catalogue, url: str, datasets: Sequence[str], optional: Sequence[str] = (), *, language: str
) -> None:
    """Add each of ``datasets`` and ``optional``, with everything that it refers to.

    A dataset that the service does not have, or whose id cannot be read, is left out. Raises InputError if the
    service cannot be reached, fails, or has none of ``datasets`` (its address is then most likely wrong), and
    UsageError without either.
    """
    if not datasets and not optional:
        raise UsageError(
            f"no datasets to fetch from {shown_source(url)}: give their ids, for example datasets=['IMF.STA:CPI']"
        )
    if fault := web_fault_of(url):
        raise InputError(fault)
    wanted = list(dict.fromkeys(id_ for id_ in map(_parsed, datasets) if id_ is not None))
    with closing(_Service(url, language=language)) as service:
        fetched = [service.add(catalogue, "dataflow", id_, references="all") for id_ in wanted]
        for id_ in dict.fromkeys(id_ for id_ in map(_parsed, optional) if id_ is not None and id_ not in wanted):
            service.add(catalogue, "dataflow", id_, references="all")
        if wanted and not any(fetched):
            raise InputError(
                f'the service {service.name} has none of the {len(wanted)} requested datasets ("{wanted[0]}" first; it '
                "answered 404). Check that the URL is the service root, without /dataflow (3.0: /structure/dataflow)"
            )
        asked: set[tuple[str, ArtefactId]] = set()
        while missing := [one for one in _missing(catalogue) if one not in asked]:
            kind, id_ = missing[0]  # its answer may include other missing artefacts, so these are not requested yet
            asked.add((kind, id_))
            service.add(catalogue, kind, id_, references="none" if kind == "codelist" else "descendants")


def _parsed(dataset: str) -> ArtefactId | None:
    try:
        return parse_artefact(dataset)
    except InputError:
        return None


def _missing(catalogue: Catalogue) -> list[tuple[str, ArtefactId]]:
    """The missing artefacts in references, each once: the service sent only a stub, or nothing."""
    structures, schemes, lists = (
        Index(known) for known in (catalogue.structures, catalogue.concepts, catalogue.code_lists)
    )
    missing: dict[tuple[str, ArtefactId], None] = {}
    for dataflow in catalogue.dataflows.values():
        if dataflow.structure is not None and structures.find(dataflow.structure) is None:
            missing["datastructure", dataflow.structure] = None
    for structure in catalogue.structures.values():
        for component in structure.dimensions:
            code_list = component.code_list
            if component.concept is not None:
                scheme = schemes.find(component.concept[0])
                if scheme is None:
                    missing["conceptscheme", component.concept[0]] = None
                elif code_list is None:
                    concept = catalogue.concepts[scheme].get(component.concept[1])
                    code_list = None if concept is None else concept.code_list
            if code_list is not None and lists.find(code_list) is None:
                missing["codelist", code_list] = None
    return list(missing)


class _Service:
    """One service, with the REST interface of SDMX 2.1 or of 3.0: the first answer shows which."""

    def __init__(self, url: str, *, language: str) -> None:
        self._url = url.rstrip("/")
        self.name = shown_source(self._url)
        self._language = language
        self._until = time.monotonic() + TOTAL_S
        self._editions = list(_EDITIONS)
        self._client = httpx.Client(verify=tls_context(), follow_redirects=True, timeout=TIMEOUT)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def add(self, catalogue: Catalogue, kind: str, id_: ArtefactId, *, references: str) -> bool:
        """Fetch one artefact and those it refers to. False: the service does not have it. Raises InputError."""
        for edition in list(self._editions):
            content = self._fetch(edition, kind, id_, references)
            if content is None:
                continue
            try:
                where = f'the answer of {self.name} to {kind} "{id_}"'
                add_document(catalogue, content, where=where, language=self._language)
            except NoStructures as error:
                if error.nothing_found:
                    continue
                raise
            self._editions = [edition]
            return True
        return False

    def _fetch(self, edition: _Edition, kind: str, id_: ArtefactId, references: str) -> bytes | None:
        self._check_time(kind, id_)
        parts = (kind, id_.agency or edition.any_agency, id_.id, id_.version or edition.newest)
        url = "/".join((self._url + edition.path, *(quote(part, safe="*~+.,@$") for part in parts)))
        media = f"application/vnd.sdmx.structure+xml; version={edition.media}"
        headers = {
            "Accept": f"{media}, application/xml;q=0.5, application/vnd.sdmx.structure+json;q=0.4, */*;q=0.1",
            "Accept-Language": self._language,
        }
        try:
            with self._client.stream("GET", url, params={"references": references}, headers=headers) as response:
                if response.status_code in _ABSENT:
                    return None
                if not response.is_success:
                    raise InputError(
                        f"the service {self.name} answered {response.status_code} ({response.reason_phrase}) to {kind} "
                        f'"{id_}": check its address, or retry later'
                    )
                return self._body(response, kind, id_)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            is_late = isinstance(error, httpx.TimeoutException)
            reason = "it did not answer in time" if is_late else str(error) or type(error).__name__
            raise InputError(
                f"the service {self.name} cannot be reached ({reason}): check the address, or save "
                "the structures to files and use those"
            ) from error

    def _body(self, response: httpx.Response, kind: str, id_: ArtefactId) -> bytes:
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise InputError(
                    f'the service {self.name} answered more than {MOST_BYTES >> 20:,} MiB to {kind} "{id_}": '
                    "save the required structures to files and use those"
                )
            self._check_time(kind, id_)
        return b"".join(parts)

    def _check_time(self, kind: str, id_: ArtefactId) -> None:
        if time.monotonic() > self._until:
            raise InputError(
                f"the service {self.name} took more than {TOTAL_S:.0f} s in all to send structures, up to {kind} "
                f'"{id_}": save them to files and use those'
            )
