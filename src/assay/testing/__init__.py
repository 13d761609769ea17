"""Servers for trials and tests, on loopback and with faults on demand: Denodo's two APIs, chat models, BigQuery's REST.

    with DenodoEmulator(answers={"How many?": "SELECT COUNT(*) FROM client"}, tables=folder) as server:
        ...  # ask server.api_url, run VQL at server.catalog_url

    with ChatEmulator(answers={"How many?": "Seven."}) as server:
        ...  # chat at server.openai_url, or at server.deployment_url()

    with BigqueryFake({"SELECT 1": FakeQuery()}, faults=[Fault(kind="busy", on="insert", times=2)]) as server:
        ...  # open server.url

`python -m assay.testing` starts one with the bundled example and prints what to try with it.
"""

from assay.testing.bigquery import BigqueryFake, FakeQuery
from assay.testing.chat import ChatAnswer, ChatEmulator
from assay.testing.emulator import DenodoEmulator
from assay.testing.faults import Fault, FaultKind
from assay.testing.judge import judge_by, same_text
from assay.testing.server import Call

__all__ = [
    "BigqueryFake",
    "Call",
    "ChatAnswer",
    "ChatEmulator",
    "DenodoEmulator",
    "FakeQuery",
    "Fault",
    "FaultKind",
    "judge_by",
    "same_text",
]
