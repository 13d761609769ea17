"""ClickHouse, through its HTTP interface."""

from assay.engines.clickhouse.engine import ClickhouseEngine, ClickhouseSecureEngine, ClickhouseSqlAlchemyEngine

__all__ = ["ClickhouseEngine", "ClickhouseSecureEngine", "ClickhouseSqlAlchemyEngine"]
