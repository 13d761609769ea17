"""How sure a number is: intervals for rates and means."""

from assay.stats.intervals import (
    bootstrap_mean_interval,
    bounded_mean_interval,
    mean_interval,
    student_t_quantile,
    wilson_interval,
)
from assay.stats.repeats import pass_all_k, pass_at_k

__all__ = [
    "bootstrap_mean_interval",
    "bounded_mean_interval",
    "mean_interval",
    "pass_all_k",
    "pass_at_k",
    "student_t_quantile",
    "wilson_interval",
]
