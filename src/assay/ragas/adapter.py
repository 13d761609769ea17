"""Assay's metrics as subclasses of ragas' own, which `ragas.evaluate(dataset, metrics=[…])` takes.

    from assay.ragas.adapter import DataCompyScore, LLMSQLEquivalence

instead of ``from ragas.metrics import …``. Only this module of `assay.ragas` needs ragas to be installed.
``evaluate`` keeps numbers only, so the reason for a NaN is logged as a warning; `detail` of a sample also
returns it.
"""

from __future__ import annotations

import logging
import math
from importlib.metadata import packages_distributions
from typing import Any

from assay.errors import InputError, MissingDependency
from assay.llm_judge import JudgeSettings
from assay.ragas.comparison import TableOptions
from assay.ragas.datacompy import DataCompyScore as _Tables
from assay.ragas.equivalence import LLMSQLEquivalence as _Queries
from assay.ragas.surface import MetricResult

try:
    from ragas.metrics.base import MetricOutputType, MetricType, MetricWithLLM, SingleTurnMetric
except ImportError as error:
    if "ragas" not in packages_distributions():
        raise MissingDependency("ragas", None) from error
    raise InputError(
        f"ragas is installed but cannot be imported: {error}. Release 0.4.3 imports with langchain<1 "
        "langchain-core<1 langchain-community<0.4 langchain-openai<1"
    ) from error

__all__ = ["DataCompyScore", "LLMSQLEquivalence"]

_LOG = logging.getLogger("assay.ragas")
_OPTIONS = frozenset({"mode", "metric", *TableOptions.__struct_fields__})
_METHODS = {"detail", "ascore", "score"}


class DataCompyScore(SingleTurnMetric):  # type: ignore[misc]
    """`assay.ragas.DataCompyScore` for `ragas.evaluate`, with its options and attributes, `score` and `detail`."""

    def __init__(
        self, name: str = "data_compare_score", mode: Any = "rows", metric: Any = "f1", **options: Any
    ) -> None:
        self._scorer: _Tables
        object.__setattr__(self, "_scorer", _Tables(mode, metric, name, **options))
        super().__init__(name=name, _required_columns={MetricType.SINGLE_TURN: {"reference", "response"}})

    def __getattr__(self, name: str) -> Any:
        if name not in _OPTIONS | _METHODS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._scorer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OPTIONS:
            setattr(self._scorer, name, value)
        else:
            super().__setattr__(name, value)

    def init(self, run_config: Any) -> None:
        """Does nothing: there is nothing to prepare."""

    async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:  # noqa: ARG002 (ragas' signature)
        return _logged(self.name, await self._scorer.ascore(sample.reference, sample.response)).value


class LLMSQLEquivalence(MetricWithLLM, SingleTurnMetric):  # type: ignore[misc]
    """`assay.ragas.LLMSQLEquivalence` for `ragas.evaluate`, which passes on its ``llm`` if none is set."""

    def __init__(
        self,
        llm: Any = None,
        name: str = "llm_sql_equivalence_with_reference",
        *,
        model: str | None = None,
        settings: JudgeSettings | None = None,
    ) -> None:
        super().__init__(
            name=name,
            _required_columns={MetricType.SINGLE_TURN: {"response", "reference", "reference_contexts"}},
            llm=llm,
            output_type=MetricOutputType.BINARY,
        )
        self.model = model
        self.settings = settings

    async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:  # noqa: ARG002 (ragas' signature)
        scorer = _Queries(self.llm, self.name, model=self.model, settings=self.settings)
        return _logged(self.name, await scorer.single_turn_ascore(sample)).value


def _logged(name: str, result: MetricResult) -> MetricResult:
    if math.isnan(result):
        _LOG.warning("%s has no score: %s", name, result.reason)
    return result
