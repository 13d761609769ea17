"""PostgreSQL, each query in its own read-only transaction."""

from assay.engines.postgres.engine import PostgresAliasEngine as PostgresAliasEngine
from assay.engines.postgres.engine import PostgresEngine as PostgresEngine
