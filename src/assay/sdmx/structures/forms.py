"""The artefacts of structure messages as they are written: a class per artefact and part, its fields the keys of JSON.

This is the form of SDMX-JSON, in which SDMX-ML is read, too (`assay.sdmx.structures.xml`). It covers all versions: they
differ in the names of a few lists, in ``type`` or ``role``, ``isIncluded`` or ``include``, and in values that are texts
or objects. Other keys are not read. `assay.sdmx.structures.artefacts` converts it to values.
"""

from __future__ import annotations

from msgspec import Struct, field

Text = str | None
Flag = bool | None


class Form(Struct, frozen=True, rename="camel"):
    """An object of a message. Each part of it may be absent or null."""


class Ref(Form, frozen=True):
    """A reference in parts, as in SDMX-ML 2.1. With a parent, it is to an item of that artefact."""

    id: Text = None
    agency: Text = field(name="agencyID", default=None)
    version: Text = None
    parent: Text = field(name="maintainableParentID", default=None)
    parent_version: Text = field(name="maintainableParentVersion", default=None)


Reference = str | Ref | None
"""A URN, or its parts."""


class Named(Form, frozen=True):
    """Names by language; ``name`` is a text, or in drafts of 1.0 names by language, too. Other values are not names."""

    id: Text = None
    name: object = None
    names: object = None


class Link(Form, frozen=True):
    """A link of an artefact: one of them may be the artefact's own URN."""

    urn: Text = None


class Artefact(Named, frozen=True):
    """A maintainable artefact. The parts of its name can be in its URN alone; only a true reference is external."""

    agency: Text = field(name="agencyID", default=None)
    version: Text = None
    urn: Text = None
    links: list[Link] | None = None
    is_external_reference: object = None


class Item(Named, frozen=True):
    """A code. Its children are the codes that name it as parent."""

    parent: Text = None
    codes: list[Item] | None = None


class Value(Form, frozen=True):
    """A value of a constraint or an extension."""

    value: str
    cascade_values: bool | str | None = None


Values = list[str | Value] | None


class CodeSelection(Form, frozen=True):
    """The codes that an extension takes or leaves out."""

    member_values: Values = None
    wildcarded_member_values: Values = None


class Extension(Form, frozen=True):
    """Codes from another list."""

    codelist: Reference = None
    prefix: Text = None
    inclusive_code_selection: CodeSelection | None = None
    exclusive_code_selection: CodeSelection | None = None


Items = list[Item] | None


class CodeList(Artefact, frozen=True):
    """A code list, value list, geographic code list or grid code list."""

    codes: Items = None
    value_items: Items = None
    geo_feature_set_codes: Items = None
    geo_grid_codes: Items = None
    codelist_extensions: list[Extension] | None = None
    is_partial: Flag = None


class Representation(Form, frozen=True):
    """The source of values: a list, or anything of a format."""

    enumeration: Reference = None
    enumeration_format: object = None
    format: object = None
    text_format: object = None
    min_occurs: object = None
    max_occurs: object = None


class Concept(Named, frozen=True):
    """A concept of a scheme."""

    core_representation: Representation | None = None


class ConceptScheme(Artefact, frozen=True):
    """A concept scheme."""

    concepts: list[Concept] | None = None


class Dimension(Form, frozen=True):
    """A dimension of any kind. ``position`` is used if it is a number."""

    id: Text = None
    type: Text = None
    position: object = None
    concept_identity: Reference = None
    local_representation: Representation | None = None


Dimensions = list[Dimension] | None


class DimensionList(Form, frozen=True):
    """The dimensions of a key."""

    dimensions: Dimensions = None
    measure_dimensions: Dimensions = None
    time_dimensions: Dimensions = None
    time_dimension: Dimension | None = None


class Components(Form, frozen=True):
    """The components of a data structure."""

    dimension_list: DimensionList | None = None


class DataStructure(Artefact, frozen=True):
    """A data structure definition."""

    data_structure_components: Components | None = None


class Dataflow(Artefact, frozen=True):
    """A dataflow, and the data structure that it uses."""

    structure: Reference = None


class Attachment(Form, frozen=True):
    """The artefacts of a constraint. A single URN may replace a list."""

    dataflows: list[str | Ref] | str | None = None
    data_structures: list[str | Ref] | str | None = None


class KeyValue(Form, frozen=True):
    """Values of a dimension. In 1.0, ``cascadeValues`` lists further ones, which include the codes below them."""

    id: Text = None
    value: Text = None
    values: Values = None
    cascade_values: list[str | Value] | bool | str | None = None
    include: Flag = None


class Key(Form, frozen=True):
    """A key: one value per dimension."""

    key_values: list[KeyValue] | None = None


class Region(Form, frozen=True):
    """A cube region (``keyValues``) or a set of keys (``keys``)."""

    key_values: list[KeyValue] | None = None
    keys: list[Key] | None = None
    include: Flag = None
    is_included: Flag = None


class Constraint(Artefact, frozen=True):
    """A content, data or availability constraint."""

    constraint_attachment: Attachment | None = None
    cube_regions: list[Region] | None = None
    data_key_sets: list[Region] | None = None


class Node(Form, frozen=True):
    """A node in a hierarchy: a code by its URN, or by its id and the alias of its list."""

    code: Reference = None
    code_id: Text = field(name="codeID", default=None)
    codelist_alias_ref: Text = None
    hierarchical_codes: list[Node] | None = None


class Tree(Form, frozen=True):
    """One hierarchy of a hierarchical code list."""

    hierarchical_codes: list[Node] | None = None


class Included(Form, frozen=True):
    """An alias of a code list."""

    alias: Text = None
    codelist: Reference = None
    urn: Text = None


class Hierarchy(Artefact, frozen=True):
    """A hierarchical code list (``hierarchies``) or one hierarchy (``hierarchicalCodes``)."""

    hierarchical_codes: list[Node] | None = None
    hierarchies: list[Tree] | None = None
    included_codelists: list[Included] | dict[str, str] | None = None
