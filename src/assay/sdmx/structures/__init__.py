"""The structures of datasets, and their sources: SDMX files, folders of them, a REST service."""
