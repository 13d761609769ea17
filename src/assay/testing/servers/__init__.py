"""Real and emulated database servers for trials and tests: see `assay.testing.servers.launcher`."""

from assay.testing.servers.launcher import (
    RunningServer,
    ServerEnvironment,
    ServerKind,
    ServerUnavailable,
    running,
    start,
)
from assay.testing.servers.table import SERVERS

__all__ = ["SERVERS", "RunningServer", "ServerEnvironment", "ServerKind", "ServerUnavailable", "running", "start"]
