"""The uncertainty of a number or a difference: intervals, paired tests, and the rankings of runs that they support."""

from assay.stats.clusters import design_effect
from assay.stats.correction import holm, is_significant
from assay.stats.intervals import (
    bootstrap_mean_interval,
    bounded_mean_interval,
    mean_interval,
    student_t_quantile,
    wilson_interval,
)
from assay.stats.paired import PairedInterval, paired_interval, score_interval
from assay.stats.paired_tests import clusters_needed, least_p_value, mcnemar_exact, sign_flip_test
from assay.stats.power import cases_needed, detectable_difference
from assay.stats.ranking import letter_groups, rank_bounds
from assay.stats.repeats import pass_all_k, pass_at_k
from assay.stats.selective import (
    area_under_risk,
    brier_score,
    by_threshold,
    calibration_bins,
    calibration_error,
    least_area_under_risk,
    reliability,
)

__all__ = [
    "PairedInterval",
    "area_under_risk",
    "bootstrap_mean_interval",
    "bounded_mean_interval",
    "brier_score",
    "by_threshold",
    "calibration_bins",
    "calibration_error",
    "cases_needed",
    "clusters_needed",
    "design_effect",
    "detectable_difference",
    "holm",
    "is_significant",
    "least_area_under_risk",
    "least_p_value",
    "letter_groups",
    "mcnemar_exact",
    "mean_interval",
    "paired_interval",
    "pass_all_k",
    "pass_at_k",
    "rank_bounds",
    "reliability",
    "score_interval",
    "sign_flip_test",
    "student_t_quantile",
    "wilson_interval",
]
