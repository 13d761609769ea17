"""A database's schema as whoever reads a query sees it.

`SchemaNames` has tables, columns, types, keys and references by name. `ddl` reads a schema from SQL statements;
`create_table` reads what one of them says in its own words: collations, formulas, CHECK conditions.
"""

from assay.sql.schema.names import NamedTable, SchemaNames, TypeFamily, names_of, type_family

__all__ = ["NamedTable", "SchemaNames", "TypeFamily", "names_of", "type_family"]
