"""Accuracy without the gold query.

`frame` says which answers it is about, `labels` which of them people labelled and how these were drawn, `accuracy` and
`difference` make the estimate, and `drawing` draws what to label next.
"""
