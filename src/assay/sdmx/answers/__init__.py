"""Read what a system answered as a selection, in every form that systems use."""
