"""Scripts that run in the environments of test servers, by their paths. They import nothing of Assay."""
