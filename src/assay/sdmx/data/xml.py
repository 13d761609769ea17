"""Data from SDMX-ML: generic (2.1) and structure-specific (2.1, 3.0, 3.1) messages, by series or flat.

Messages are read piece by piece: no entity is followed, no other resource is opened, and a document type is refused. A
structure-specific message gives a series' dimensions and attributes in the same way; only a structure distinguishes
them. Without a structure, all of them identify the series, except attributes of observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from assay.errors import InputError, MissingDependency
from assay.sdmx.data.observations import DataTables, described, value_of
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import Structures
from assay.sdmx.structures.xml import parse

_TIME, _VALUE, _FLAT = "TIME_PERIOD", "OBS_VALUE", "AllDimensions"
_ATTRIBUTES = ("OBS_", "CONF_")
"""Prefixes of attributes of single observations."""
_AGREEMENTS = ("ProvisionAgreement", "ProvisionAgrement")
"""The second is how the schema of SDMX 2.1 spells it."""
_OLDER = ("/SDMXML/schemas/v1_0/", "/SDMXML/schemas/v2_0/")
_NO_RESULTS = "100"
_CUT = frozenset({"130", "413", "510"})
"""Codes of messages that accompany data that were truncated, or left out altogether, since they are too many."""
_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
_NO_COMPONENTS = frozenset({"action", "type", "setID", "validFromDate", "validToDate"})


class NoMessage(InputError):
    """The XML is of another kind: a folder of data may contain such files."""


def add_xml(tables: DataTables, file: IO[bytes], *, where: str, structures: Structures | None) -> bool:
    """Add the observations of a message. False: it is SDMX-ML without data. Raises InputError with ``where``."""
    try:
        from lxml import etree
    except ImportError as error:
        raise MissingDependency("lxml", "sdmx") from error
    message = _Message(tables, where=where, structures=structures)
    events = etree.iterparse(
        file,
        events=("start", "end"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return _read(events, message, where)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{where} is not well-formed XML: {error.msg or 'it is empty'}. Fetch or save it again"
        ) from None


def read_available(content: bytes) -> Mapping[str, frozenset[str]] | None:
    """The codes with data by dimension, from a constraint; None if the message is not a constraint, or has no codes."""
    try:
        root = parse(content, "the constraint")
    except InputError:
        return None
    codes: dict[str, set[str]] = {}
    for region in root.iter("{*}CubeRegion"):
        for member in region if region.get("include") != "false" else ():
            if _local(member) == "KeyValue" and member.get("include") != "false":
                values = {value.text.strip() for value in member if _local(value) == "Value" and value.text}
                codes.setdefault(member.get("id", ""), set()).update(values)
    return {name: frozenset(values) for name, values in codes.items() if values} or None  # a range of time has none


def _read(events: Iterator[tuple[str, Any]], message: _Message, where: str) -> bool:
    is_data = None
    for event, element in events:
        name = _local(element)
        if is_data is None:
            if element.getroottree().docinfo.internalDTD is not None:
                raise InputError(
                    f"{where} declares a document type (DTD), which SDMX-ML does not allow: it is not read"
                )
            if any(edition in str(element.tag) for edition in _OLDER):
                raise InputError(
                    f"{where} is SDMX-ML 2.0 or older: request 2.1 or SDMX-CSV, which such services also offer"
                )
            if "sdmx" not in str(element.tag):
                raise NoMessage(f"{where} is not an SDMX message: its root element is <{name[:60]}>")
            is_data = name.endswith("Data")
            if not is_data and name != "Error":
                return False
        if event == "start":
            continue
        if name == "ErrorMessage" or (name == "Message" and _local(element.getparent()) == "Footer"):
            is_data = _heed(element, where) or is_data
        elif name == "Header":
            message.read_header(element)
        elif name == "Series":
            message.add_series(element)
            _forget(element)
        elif name == "Obs" and _local(element.getparent()) == "DataSet":
            message.add_flat(element)
            _forget(element)
        elif name == "Group":
            _forget(element)
    return bool(is_data)


def _heed(message: Any, where: str) -> bool:
    """Check for a service's own message: True if it says that there are no data. Raises InputError.

    An error message has nothing else; truncated data have one after them, in a footer.
    """
    code = message.get("code", "")
    if code == _NO_RESULTS:
        return True
    is_error = _local(message) == "ErrorMessage"
    if is_error or code in _CUT or message.get("severity") == "Error":
        said = " ".join(" ".join(message.itertext()).split())[:300]
        what = "is a service's error message" if is_error else "is incomplete, by a message at its end"
        raise InputError(f"{where} {what}: {code} {said}".rstrip())
    return False


def _forget(element: Any) -> None:
    """Free the element that was read, and those before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


def _local(element: Any) -> str:
    tag = "" if element is None else element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


class _Message:
    """One message: its header gives the dataset of each part."""

    def __init__(self, tables: DataTables, *, where: str, structures: Structures | None) -> None:
        self._tables = tables
        self._where = where
        self._structures = structures
        self._datasets: dict[str, tuple[ArtefactId, str]] = {}
        self._layouts: dict[ArtefactId, tuple[str, frozenset[str] | None]] = {}

    def read_header(self, header: Any) -> None:
        """Read the message's structures, and the dimension of its observations."""
        for one in (child for child in header if _local(child) == "Structure"):
            found = {_local(child): named for child in one if (named := _reference(child)) is not None}
            dataset = next(
                (found[name] for name in ("StructureUsage", *_AGREEMENTS, "Structure") if name in found), None
            )
            if dataset is not None:
                self._datasets[one.get("structureID", "")] = (dataset, one.get("dimensionAtObservation", _TIME))

    def add_series(self, series: Any) -> None:
        """Add the observations of a series."""
        if _is_deleted(series.getparent()) or _is_deleted(series):
            return
        dataset, at_observation = self._dataset_of(series.getparent())
        key = next((child for child in series if _local(child) == "SeriesKey"), None)
        own = _components(series) if key is None else _values(key)
        without = 0
        for observation in (child for child in series if _local(child) == "Obs"):
            if _is_deleted(observation):
                continue
            said, value = self._observation(observation, at_observation, is_generic=key is not None)
            time, _ = self._layout(dataset)
            measure = observation.get(_TYPE) if key is None and at_observation != time else None
            if measure is not None and at_observation not in said:
                # With explicit measures, the element's type is the code at the observation's dimension.
                said[at_observation] = measure.rpartition(":")[2]
            beside = {at_observation, time}
            without += beside.isdisjoint(said)
            if without > 1:
                raise InputError(
                    f"{self._where}: observations of a series have no {at_observation[:80]!r}, the "
                    "dimension in which they differ by the header"
                )
            self._add(dataset, {**own, **{name: code for name, code in said.items() if name in beside}}, value)

    def add_flat(self, observation: Any) -> None:
        """Add an observation that has its whole key."""
        if _is_deleted(observation.getparent()) or _is_deleted(observation):
            return
        dataset, _ = self._dataset_of(observation.getparent())
        key = next((child for child in observation if _local(child) == "ObsKey"), None)
        said, value = self._observation(observation, _FLAT, is_generic=key is not None)
        self._add(dataset, {n: c for n, c in said.items() if not n.startswith(_ATTRIBUTES)}, value)

    def _observation(
        self, observation: Any, at_observation: str, *, is_generic: bool
    ) -> tuple[dict[str, str], str | None]:
        if not is_generic:
            said = _components(observation)
            return said, said.pop(_VALUE, None)
        said, value = {}, None
        for child in observation:
            name = _local(child)
            if name == "ObsKey":
                said.update(_values(child))
            elif name == "ObsDimension":
                said[child.get("id") or at_observation] = child.get("value", "")
            elif name == "ObsValue":
                value = child.get("value")
        return said, value

    def _add(self, dataset: ArtefactId, said: dict[str, str], value: str | None) -> None:
        time, dimensions = self._layout(dataset)
        period = said.pop(time, None)
        if dimensions is not None:
            said = {name: code for name, code in said.items() if name in dimensions}
        self._tables.add(dataset, said, period, value_of(value))

    def _layout(self, dataset: ArtefactId) -> tuple[str, frozenset[str] | None]:
        """The name of a dataset's time dimension, and its dimensions; None: no structure has them."""
        if dataset not in self._layouts:
            structure = described(dataset, self._structures)
            known = frozenset(one.id for one in structure.dimensions) if structure is not None else frozenset()
            time = (structure.time_dimension if structure is not None else None) or _TIME
            self._layouts[dataset] = (time, known or None)
        return self._layouts[dataset]

    def _dataset_of(self, part: Any) -> tuple[ArtefactId, str]:
        reference = next((value for name, value in part.attrib.items() if name.endswith("structureRef")), None)
        found = self._datasets.get(reference or "")
        if found is None and len(self._datasets) == 1:
            found = next(iter(self._datasets.values()))
        if found is None:
            raise InputError(
                f"{self._where}: the dataset of its data is unknown: the header does not describe the "
                f"structure {(reference or '')[:80]!r}"
            )
        return found


def _is_deleted(element: Any) -> bool:
    """Whether part of a message, or a series or an observation of it, is a deletion."""
    return any(name.rpartition("}")[2] == "action" and said == "Delete" for name, said in element.attrib.items())


def _components(element: Any) -> dict[str, str]:
    """The components in the attributes of a structure-specific message's element."""
    return {
        name: value for name, value in element.attrib.items() if not name.startswith("{") and name not in _NO_COMPONENTS
    }


def _values(key: Any) -> dict[str, str]:
    return {child.get("id", ""): child.get("value", "") for child in key if _local(child) == "Value"}


def _reference(element: Any) -> ArtefactId | None:
    """The artefact that an element refers to: by a Ref, a URN within, or a URN as its text."""
    for child in (element, *element):
        if _local(child) == "Ref":
            attributes: Mapping[str, str] = child.attrib
            return ArtefactId(
                id=attributes.get("id", ""), agency=attributes.get("agencyID"), version=attributes.get("version")
            )
        text = (child.text or "").strip()
        if text.startswith("urn:"):
            try:
                return parse_artefact(text)
            except InputError:
                continue
    return None
