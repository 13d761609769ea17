"""MySQL and MariaDB, over SQLAlchemy."""

from assay.engines.mysql.engine import MariadbEngine as MariadbEngine
from assay.engines.mysql.engine import MysqlEngine as MysqlEngine
