"""The files of published benchmarks, as they come."""
