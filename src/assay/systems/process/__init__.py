"""Systems that are commands."""

from assay.systems.process.command import CommandSystem as CommandSystem
