"""`python -m assay.testing`: an emulated Denodo with the bundled example, to try `assay denodo` on.

With ``--chat FILE`` it is a chat server instead, that of an SDMX assistant. With ``--clickhouse``, ``--postgres``,
``--snowflake``, ``--bigquery`` or ``--spark`` it is a database server: see `assay.testing.servers`.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

from assay.errors import AssayError
from assay.testing import ChatEmulator, DenodoEmulator, example
from assay.testing.chat import read_answers
from assay.testing.servers import SERVERS, ServerEnvironment, start


def main(arguments: list[str] | None = None) -> int:
    """Start the emulator, say what to try, and serve until stopped. 0: stopped; 2: it could not start."""
    parser = argparse.ArgumentParser(prog="python -m assay.testing", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="where to put the example workbook")
    parser.add_argument("--port", type=int, default=0, help="the loopback port to listen on (default: a free one)")
    parser.add_argument("--try", dest="once", action="store_true", help="run the whole job once, then stop")
    parser.add_argument("--newer", action="store_true", help="ask back and answer 404, as newer releases do")
    parser.add_argument(
        "--marketplace", action="store_true", help="behave as the AI SDK 1.4 and its Data Marketplace do"
    )
    parser.add_argument("--chat", type=Path, metavar="FILE", help="emulate a chat server with these answers instead")
    databases = parser.add_mutually_exclusive_group()
    for name, kind in SERVERS.items():
        databases.add_argument(f"--{name}", dest="database", action="store_const", const=name, help=kind.title)
    given = parser.parse_args(arguments)
    if given.database is not None:
        return _database(given.database, given.port)
    if given.chat is not None:
        return _chat(given.chat, given.port)
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
        workbook = example.write_workbook(given.folder / example.WORKBOOK)
        server = DenodoEmulator(
            answers=example.answers_path(),
            tables=example.tables_folder(),
            user=example.USER,
            password=example.PASSWORD,
            port=given.port,
            newer=given.newer or given.marketplace,
            marketplace=given.marketplace,
        ).start()
    except (AssayError, OSError, OverflowError) as error:
        print(f"the emulator cannot start: {error}", file=sys.stderr)
        return 2
    try:
        if given.once:
            # Each trial is at another port, so an earlier trial's run is a different one: overwrite it.
            command = [sys.executable, "-m", *_command(server, workbook), "--overwrite"]
            return subprocess.run(command, check=False).returncode
        print(_welcome(server, workbook), flush=True)
        _until_stopped()
    finally:
        server.stop()
    return 0


def _chat(answers: Path, port: int) -> int:
    try:
        server = ChatEmulator(answers=read_answers(answers), port=port).start()
    except (AssayError, OSError, OverflowError) as error:
        print(f"the emulator cannot start: {error}", file=sys.stderr)
        return 2
    try:
        addresses = f"{server.openai_url}, and as a deployment at\n\n{server.deployment_url()}"
        print(f"An emulated chat server answers at {addresses}\n\nCtrl-C stops it.", flush=True)
        _until_stopped()
    finally:
        server.stop()
    return 0


def _database(name: str, port: int) -> int:
    kind = SERVERS[name]
    environment = ServerEnvironment(name, kind.packages)
    if not environment.is_made:
        print(f"Installing {' '.join(kind.packages)} into {environment.folder} ...", file=sys.stderr, flush=True)
    try:
        server = start(name, port=port)
    except (AssayError, OSError) as error:
        print(f"the server cannot start: {error}", file=sys.stderr)
        return 2
    with server:
        print(f"{kind.title}\n\n    {server.url}\n\nTry in another terminal:\n\n    {server.example}", flush=True)
        print("\nCtrl-C stops it.", flush=True)
        _until_stopped()
    return 0


def _command(server: DenodoEmulator, workbook: Path) -> list[str]:
    results = workbook.with_name("evaluation_results.xlsx")
    command = ["assay", "denodo", "--input", str(workbook), "--output", str(results), "--api-url", server.api_url]
    return [*command, "--catalog-url", server.catalog_url, "--user", example.USER, "--password", example.PASSWORD]


def _welcome(server: DenodoEmulator, workbook: Path) -> str:
    return f"""\
An emulated Denodo answers at {server.base_url}, with an invented bank and {len(example.questions())} questions.
Try in another terminal:

{shlex.join(_command(server, workbook))}

Ctrl-C stops it."""


def _until_stopped() -> None:
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    while not stop.wait(0.5):  # on Windows a wait without a timeout would not see Ctrl-C
        pass


if __name__ == "__main__":
    sys.exit(main())
