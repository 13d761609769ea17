"""Which codes of a dataset have data, by the constraint that a service returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import MissingDependency


def read_available(content: bytes) -> Mapping[str, frozenset[str]] | None:
    """The codes by dimension; None where the answer is no constraint, or one without codes."""
    try:
        from lxml import etree
    except ImportError as error:
        raise MissingDependency("lxml", "sdmx") from error
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root.getroottree().docinfo.internalDTD is not None:
        return None
    codes: dict[str, set[str]] = {}
    for region in root.iter("{*}CubeRegion"):
        if region.get("include") == "false":
            continue
        for member in region:
            values = _values(member)
            if values and member.get("include") != "false":
                codes.setdefault(member.get("id", ""), set()).update(values)
    return {name: frozenset(values) for name, values in codes.items()} or None


def _values(member: Any) -> set[str]:
    """The codes of a KeyValue; a range of time has none."""
    if not str(member.tag).endswith("}KeyValue"):
        return set()
    return {value.text.strip() for value in member if str(value.tag).endswith("}Value") and value.text}
