"""What is known of datasets, and where it is read from: SDMX files, folders of them, a REST service."""
