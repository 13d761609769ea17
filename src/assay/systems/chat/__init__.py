"""Chat models, asked for SQL or for SDMX selections."""

from assay.systems.chat.system import ChatSystem as ChatSystem
