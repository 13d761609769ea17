"""PostgreSQL, each query in a read-only transaction of its own."""

from assay.engines.postgres.engine import PostgresAliasEngine as PostgresAliasEngine
from assay.engines.postgres.engine import PostgresEngine as PostgresEngine
