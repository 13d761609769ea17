"""Assay's metrics inside a real ragas: run by an interpreter that has both; prints what came of it as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import warnings
from typing import Any

TABLES = [
    {"response": "id,v\n1,2.5\n2,unknown\n", "reference": "id,v\n1,2.5\n2,3\n"},
    {"response": 'id,v\n1,"2.5', "reference": "id,v\n1,2.5\n2,3\n"},
    {"response": "a\n1\n", "reference": "b\n2\n"},
]
QUERIES = [
    {"response": "SELECT 1", "reference": "select 1", "reference_contexts": ["table t"]},
    {"response": "SELECT 2", "reference": "select 1", "reference_contexts": ["table t"]},
]


def main(url: str) -> None:
    warnings.simplefilter("ignore")
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    import ragas.metrics
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI, OpenAI
    from ragas.llms import llm_factory

    from assay.ragas import SQLSemanticEquivalence
    from assay.ragas.adapter import DataCompyScore, LLMSQLEquivalence

    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("assay.ragas").addHandler(handler)

    changed = DataCompyScore()
    changed.mode, changed.metric = "columns", "precision"
    found: dict[str, Any] = {
        "ours": scores(TABLES, [DataCompyScore(), changed]),
        "theirs": scores(TABLES[:2], [ragas.metrics.DataCompyScore()]),
        "logged": logged,
        "required": sorted(LLMSQLEquivalence().required_columns["SINGLE_TURN"]),
    }
    sync, other = (llm_factory("gpt-x", client=kind(base_url=url, api_key="k")) for kind in (OpenAI, AsyncOpenAI))
    found["factory, sync"] = scores(QUERIES, [LLMSQLEquivalence()], llm=sync)
    found["factory, async"] = scores(QUERIES, [LLMSQLEquivalence()], llm=other)
    found["langchain"] = scores(QUERIES, [LLMSQLEquivalence()], llm=ChatOpenAI(model="m", base_url=url, api_key="k"))
    found["collections, sync"] = [SQLSemanticEquivalence(llm=sync).score(**pair).value for pair in QUERIES]

    async def awaited() -> list[Any]:
        llm = llm_factory("gpt-x", client=AsyncOpenAI(base_url=url, api_key="k"))
        results = await SQLSemanticEquivalence(llm=llm).abatch_score(QUERIES)
        return [[result.value, result.reason] for result in results]

    found["collections, async"] = asyncio.run(awaited())
    print(json.dumps(found))


def scores(rows: list[dict[str, Any]], metrics: list[Any], **options: Any) -> list[dict[str, Any]]:
    from ragas import EvaluationDataset, evaluate

    return evaluate(EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False, **options).scores


if __name__ == "__main__":
    main(sys.argv[1])
