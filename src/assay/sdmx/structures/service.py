"""Fetch the structures of datasets from an SDMX REST service, with sdmx1's own client."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from assay.errors import InputError, UsageError
from assay.sdmx.structures.catalogue import Catalogue, Index
from assay.sdmx.structures.documents import add_document
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import shown_source

TIMEOUT_S = (10.0, 60.0)
"""For connecting, and for each wait for more of an answer."""
TOTAL_S = 300.0
"""After that no further request is made."""


def add_service(
    catalogue: Catalogue, url: str, datasets: Sequence[str], optional: Sequence[str] = (), *, language: str
) -> None:
    """Add each of ``datasets`` and ``optional`` with all that it refers to. Call it within `quietly`.

    A dataset that the service does not have, or whose id cannot be read, is left out. Raises InputError where the
    service cannot be reached, fails, or has none of ``datasets`` (its address is then most likely wrong), and
    UsageError without either.
    """
    if not datasets and not optional:
        raise UsageError(
            f"which datasets are to be fetched from {shown_source(url)}? Give their ids, as in datasets=['IMF.STA:CPI']"
        )
    wanted = list(dict.fromkeys(id_ for id_ in map(_parsed, datasets) if id_ is not None))
    service = _Service(url, language=language)
    with closing(service):
        _fetch_all(service, catalogue, wanted, optional)


def _fetch_all(service: _Service, catalogue: Catalogue, wanted: Sequence[ArtefactId], optional: Sequence[str]) -> None:
    url = service.name
    fetched = [service.add(catalogue, "dataflow", id_, references="all") for id_ in wanted]
    for id_ in dict.fromkeys(id_ for id_ in map(_parsed, optional) if id_ is not None and id_ not in wanted):
        service.add(catalogue, "dataflow", id_, references="all")
    if wanted and not any(fetched):
        raise InputError(
            f'the service {url} has none of the {len(wanted)} datasets asked for ("{wanted[0]}" first; it answered '
            "404): check the address up to where /dataflow follows in it (3.0: /structure/dataflow)"
        )
    asked: set[tuple[str, ArtefactId]] = set()
    while missing := [one for one in _missing(catalogue) if one not in asked]:
        kind, id_ = missing[0]  # its answer may hold others that are missing, so these are not asked for yet
        asked.add((kind, id_))
        service.add(catalogue, kind, id_, references="none" if kind == "codelist" else "descendants")


def _parsed(dataset: str) -> ArtefactId | None:
    try:
        return parse_artefact(dataset)
    except InputError:
        return None


def _missing(catalogue: Catalogue) -> list[tuple[str, ArtefactId]]:
    """What is referred to and not there, each once: the service sent a stub of it, or nothing."""
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
    """One service, which speaks the REST interface of SDMX 2.1, or else that of 3.0: the first answer tells."""

    def __init__(self, url: str, *, language: str) -> None:
        from sdmx.format import Version
        from sdmx.session import Session
        from sdmx.source import Source

        import sdmx

        class Capture(Source):
            """Keeps an answer as it came, and gives sdmx1 an empty message for it: it is read as files are."""

            content = b""

            def handle_response(self, response: Any, content: Any) -> tuple[Any, Any]:
                import io

                self.content = content.read()
                response.headers["content-type"] = "application/vnd.sdmx.structure+xml; version=2.1"
                return response, io.BytesIO(_NOTHING)

        url = url.rstrip("/")
        self.name = shown_source(url)
        self._language = language
        self._until = time.monotonic() + TOTAL_S
        self._sources = {
            version: Capture(id="ASSAY", url=url, name=self.name, versions={Version[version]})
            for version in ("2.1", "3.0.0")
        }
        self._clients = {version: sdmx.Client(session=Session()) for version in self._sources}
        for version, client in self._clients.items():
            client.source = self._sources[version]  # given at making, it would have to be registered for all
            client._send_kwargs = {}  # sdmx1 shares it among all clients: keep the time limit from the user's own

    def close(self) -> None:
        """Let go of the connections."""
        for client in self._clients.values():
            client.session.close()

    def add(self, catalogue: Catalogue, kind: str, id_: ArtefactId, *, references: str) -> bool:
        """Fetch one artefact and what it refers to. False: the service does not have it. Raises InputError."""
        for version in list(self._clients):
            content = self._fetch(version, kind, id_, references)
            if content is None:
                continue
            for other in [one for one in self._clients if one != version]:
                self._clients.pop(other).session.close()
            add_document(
                catalogue, content, where=f'the answer of {self.name} to {kind} "{id_}"', language=self._language
            )
            return True
        return False

    def _fetch(self, version: str, kind: str, id_: ArtefactId, references: str) -> bytes | None:
        import requests

        if time.monotonic() > self._until:
            raise InputError(
                f"the service {self.name} took more than {TOTAL_S:.0f} s in all to send structures, up to {kind} "
                f'"{id_}": save them to files and give those'
            )
        media = "application/vnd.sdmx.structure+xml; version=" + version
        newest = "latest" if version == "2.1" else "~"
        try:
            self._clients[version].get(
                resource_type=kind,
                resource_id=id_.id,
                agency_id=id_.agency or ("all" if version == "2.1" else "*"),
                version=id_.version or newest,
                params={"references": references},
                headers={"Accept": f"{media}, application/xml;q=0.5", "Accept-Language": self._language},
                timeout=TIMEOUT_S,
                force=True,
            )
        except requests.HTTPError as error:
            status = getattr(error.response, "status_code", None)
            if status == 404:
                return None
            reason = getattr(error.response, "reason", None)
            raise InputError(
                f'the service {self.name} answered {status} ({reason}) to {kind} "{id_}": check its '
                "address, or try again later"
            ) from error
        except NotImplementedError:  # sdmx1's word for 501
            return None
        except requests.RequestException as error:
            raise InputError(
                f"the service {self.name} cannot be reached ({_reason(error)}): check the address, or save the "
                "structures to files and give those"
            ) from error
        content: bytes = self._sources[version].content
        return content


def _reason(error: Exception) -> str:
    """What is at the root of requests' nested error, in its own words."""
    import requests

    if isinstance(error, requests.Timeout):
        return "it did not answer in time"
    inner: BaseException = error
    while inner.args and isinstance(inner.args[0], BaseException):
        inner = inner.args[0]
    inner = getattr(inner, "reason", None) or inner
    return str(inner).rpartition(": ")[2] if isinstance(inner, BaseException) else str(inner)


_NOTHING = (
    b'<mes:Structure xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message">'
    b"<mes:Structures/></mes:Structure>"
)
