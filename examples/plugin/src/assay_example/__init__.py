"""One plug-in of each kind. Nothing is imported here: Assay loads only the class that a command names."""
