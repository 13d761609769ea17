"""ragas itself, with the datacompy it imports with: numbers to equal, asked over standard input and output.

This file is run by an interpreter that has ragas 0.4.3, datacompy 0.18.1 and pandas 2.3, and shares
nothing with what it judges. A case is a line of JSON: ``reference``, ``response`` and, where they are
not ragas' own, ``options`` of datacompy. The answer is one, too.

    python -m venv ragas
    ragas/bin/pip install ragas==0.4.3 datacompy==0.18.1 'pandas<3' 'langchain<1' 'langchain-core<1' \
        'langchain-community<0.4' 'langchain-openai<1'
    ASSAY_RAGAS_PYTHON=ragas/bin/python python -m pytest tests/ragas
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
import warnings
from typing import Any

MEASURES = ("precision", "recall", "f1")
MODES = ("rows", "columns")


def main() -> None:
    """Answer every line until there is none. The first answer says what is installed."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    import datacompy
    import pandas
    from datacompy.core import Compare
    from ragas.metrics.collections import DataCompyScore

    import ragas

    def compared(case: dict[str, Any]) -> Any:
        options = case.get("options") or {}
        frames = [pandas.read_csv(io.StringIO(case[side])) for side in ("reference", "response")]
        return Compare(*frames, **options if "join_columns" in options else {"on_index": True, **options})

    def numbers(case: dict[str, Any], found: Any) -> dict[str, list[float]]:
        pair = {side: case[side] for side in ("reference", "response")}
        if not case.get("options"):
            return {
                mode: [
                    asyncio.run(DataCompyScore(mode=mode, metric=measure).ascore(**pair)).value for measure in MEASURES
                ]
                for mode in MODES
            }
        right = {
            "rows": int(found.count_matching_rows()),
            "columns": sum(column["unequal_cnt"] == 0 for column in found.column_stats),
        }
        return {
            mode: formulas(right[mode], found.df1.shape[axis], found.df2.shape[axis]) for axis, mode in enumerate(MODES)
        }

    def answer(case: dict[str, Any]) -> dict[str, Any]:
        found = compared(case)
        return {
            "paired": len(found.intersect_rows),
            "matching": int(found.count_matching_rows()),
            "unequal": {column["column"]: int(column["unequal_cnt"]) for column in found.column_stats},
            **numbers(case, found),
        }

    print(json.dumps([ragas.__version__, datacompy.__version__, pandas.__version__]), flush=True)
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 (what the original raises is its answer)
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


def formulas(right: int, wanted: int, given: int) -> list[float]:
    """ragas' three numbers, for options that it does not have."""
    precision, recall = right / given if given else 0.0, right / wanted if wanted else 0.0
    return [precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0]


if __name__ == "__main__":
    main()
