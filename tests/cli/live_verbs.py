"""The verbs that ask a live system and write a run, each with an emulated system behind it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import PASSWORD, emulator, json_lines, sqlite_file

from assay import demo
from assay.testing import ChatAnswer, ChatEmulator, Fault, example

_KEY = "deployment-key-4711"
_QUESTIONS = 6
NOBODY = "127.0.0.1:9"
"""The discard port: nothing listens there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVerb:
    """One of them."""

    server: Any
    arguments: tuple[object, ...]
    address: str
    """Of the system, as it stands among the arguments."""
    run_option: str
    env: dict[str, str]

    def command(self, run: Path, *more: object, mistyped: bool = False) -> list[object]:
        """The command that writes this run, to a system that is there or to one that is not."""
        wrong = self.address.split("/")[2]
        given = [
            str(one).replace(wrong, NOBODY) if mistyped and self.address in str(one) else one for one in self.arguments
        ]
        patient = ("--ask-timeout", 3600)  # who waits for an answer that is held does so as long as a test takes
        return [*given, self.run_option, run, "--concurrency", 1, "--retries", 0, *patient, "-q", *more]

    def slow(self, *, after: int) -> None:
        """From its next question but so many on the system holds its answer, until its faults are cleared."""
        self.server.faults.add(Fault(kind="slow", after=after, seconds=600.0))

    def asked(self) -> dict[str, int]:
        """How often it was asked each question."""
        return dict(self.server.asked)


@contextmanager
def live_verb(name: str, folder: Path) -> Iterator[LiveVerb]:
    """Set one up, by its name."""
    folder.mkdir()
    with {"run": _run, "denodo": _denodo, "sdmx": _sdmx}[name](folder) as verb:
        yield verb


@contextmanager
def _run(folder: Path) -> Iterator[LiveVerb]:
    sqlite_file(folder / "shop.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")
    cases = [
        {"id": str(n), "question": f"how many, {n}?", "gold_sql": "SELECT count(*) FROM t"} for n in range(_QUESTIONS)
    ]
    json_lines(folder / "cases.jsonl", cases)
    answer = ChatAnswer(content="```sql\nSELECT count(*) FROM t\n```")
    with ChatEmulator(answers=lambda _: answer) as server:
        yield LiveVerb(
            server=server,
            arguments=(
                *("run", folder / "cases.jsonl", "--system", f"chat:{server.openai_url}", "--param", "model=any"),
                *("--db", f"sqlite:///{folder / 'shop.sqlite'}", "--metrics", "match", "--workers", "1"),
            ),
            address=server.openai_url,
            run_option="-o",
            env={},
        )


@contextmanager
def _denodo(folder: Path) -> Iterator[LiveVerb]:
    workbook = example.write_workbook(folder / example.WORKBOOK)
    with emulator() as server:
        yield LiveVerb(
            server=server,
            arguments=(
                *("denodo", "--input", workbook, "--output", folder / "out.xlsx", "--api-url", server.api_url),
                *("--user", "demo", "--catalog-url", server.catalog_url, "--ves-iterations", "1"),
                *("--question-rows", _QUESTIONS),
            ),
            address=server.api_url,
            run_option="--run",
            env={"ASSAY_PASSWORD": PASSWORD},
        )


@contextmanager
def _sdmx(folder: Path) -> Iterator[LiveVerb]:
    shutil.copyfile(demo.sdmx_path("cases.yaml"), folder / "cases.yaml")
    with ChatEmulator(answers=lambda _: ChatAnswer(content="I cannot say."), token=_KEY, model="statgpt") as server:
        url = server.deployment_url()
        yield LiveVerb(
            server=server,
            arguments=("sdmx", folder / "cases.yaml", "--system", f"chat:{url}"),
            address=url,
            run_option="-o",
            env={"ASSAY_TOKEN": _KEY},
        )
