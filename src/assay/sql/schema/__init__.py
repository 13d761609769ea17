"""A database's schema, for resolving the names in a query.

`SchemaNames` has tables, columns, types, keys and references by name. `ddl` reads a schema from SQL statements;
`create_table` reads some clauses of a statement as written: collations, formulas, CHECK conditions.
"""

from assay.sql.schema.names import NamedTable, SchemaNames, TypeFamily, names_of, type_family

__all__ = ["NamedTable", "SchemaNames", "TypeFamily", "names_of", "type_family"]
