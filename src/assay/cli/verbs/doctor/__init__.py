"""`assay doctor`: what is installed, what holds on this machine, what a URL can reach."""
