"""The part of a schema that a system was given before it wrote a query.

`reading` reads it as systems report it: names, objects, JSON, DDL. `matching` finds the tables and columns of the
database that the names mean.
"""

from assay.sql.context.reading import (
    COLUMN_NAMES,
    TABLE_NAMES,
    Context,
    InvalidContext,
    context_beside,
    read_context,
)

__all__ = ["COLUMN_NAMES", "TABLE_NAMES", "Context", "InvalidContext", "context_beside", "read_context"]
