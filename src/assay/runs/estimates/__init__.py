"""Accuracy without gold.

`frame` says of which answers, `labels` which of them people labelled and how these were drawn, `accuracy` and
`difference` make the estimate, and `drawing` draws what to label next.
"""
