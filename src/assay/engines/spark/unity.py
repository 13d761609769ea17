"""The rights of a reader in Unity Catalog."""

from __future__ import annotations

from assay.engines.spark.url import Address
from assay.model import quoted

_HOSTS = (".databricks.com", ".azuredatabricks.net", ".databricks.azure.cn")


def is_databricks_host(host: str) -> bool:
    """Whether a server is Databricks', and so has Unity Catalog's rights."""
    return host.lower().endswith(_HOSTS)


def reader_grants(address: Address) -> tuple[str, ...]:
    """The statements that make a principal a reader of one schema (as Databricks documents them)."""
    catalog, schema = (quoted(name, "`") for name in (address.catalog or "CATALOG", address.schema or "SCHEMA"))
    return (
        f"GRANT USE CATALOG ON CATALOG {catalog} TO `assay_reader`;",
        f"GRANT USE SCHEMA ON SCHEMA {catalog}.{schema} TO `assay_reader`;",
        f"GRANT SELECT ON SCHEMA {catalog}.{schema} TO `assay_reader`;",
    )
