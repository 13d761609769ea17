"""Read a system's answer as a selection, in every form that systems use."""
