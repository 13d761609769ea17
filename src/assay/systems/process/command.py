"""Any command: the question on standard input or as an argument, the query on standard output."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import warnings
from collections.abc import Sequence
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError, SystemUnusable
from assay.model import Case, Prediction
from assay.platform.safeguards import has_process_groups
from assay.sql.context import Context, InvalidContext, context_beside
from assay.sql.extraction.embedded_json import read_json
from assay.systems.address import without_scheme
from assay.systems.options import SystemOptions
from assay.systems.placeholders import check_placeholders, filled
from assay.systems.predictions import QuestionFailed, answered, answered_with_value, failed, first_line
from assay.systems.retrying import TryAgain, with_retries

_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n([^`]*)```", re.IGNORECASE)
_REJECTIONS = frozenset({64, 77, 78, 126, 127})
"""From sysexits.h: wrong usage, no permission and wrong configuration; from shells: a command that cannot be run or
found."""
TRY_AGAIN_STATUS = 75
"""EX_TEMPFAIL of sysexits.h: the exit status for a transient error."""


class CommandSystem:
    """``command:./ask.sh --flag {question}``, started once per question and without a shell.

    The line is split into words as in a POSIX shell, and nothing is expanded except ``{question}``, ``{context}``,
    ``{database}`` and ``{id}``. If no word has ``{question}``, the question is written to standard input, in UTF-8
    and with a newline. Standard output is the answer, a query, or rows in JSON: an object with ``rows``, or a list of
    them. An object with the query may name the context of the command: ``{"sql": …, "context_tables": […]}``. An exit
    status other than 0 is a failure that quotes the last line of standard error; after status 75 (EX_TEMPFAIL) the
    command is retried. A command that exceeds its time limit is killed with all processes that it started.
    ``wall_time`` is measured here.
    """

    name = "command"

    def __init__(self, words: tuple[str, ...], *, by_argument: bool, options: SystemOptions) -> None:
        self._words = words
        self._by_argument = by_argument
        self._options = options
        self._running: set[Process] = set()
        self._lock = Lock()
        self._closed = False
        self._told_of_context = False

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> CommandSystem:
        """Raises InputError for a line that cannot be split into words, and SystemUnusable for a missing command."""
        line = without_scheme(url, cls.name)
        try:
            words = tuple(split_words(line))
        except ValueError as error:
            raise InputError(f"the command {line!r} cannot be split into words ({error}): check its quotes") from None
        if not words:
            raise InputError(f"{url!r} has no command: use {cls.name}:./ask.sh --flag {{question}}")
        if options.has_prices:
            raise InputError("a command does not report tokens: omit the prices")
        if options.headers:
            raise InputError("a command does not take HTTP headers: omit them")
        if options.parameters:
            raise InputError("a command does not take parameters: write them into its command line")
        names = check_placeholders(words, what=f"the command {line!r}")
        if shutil.which(words[0]) is None:
            raise SystemUnusable(
                f"cannot run the command {words[0]!r}: check its spelling, its path (relative to "
                f"{os.getcwd()}) and that it is executable"
            )
        return cls(words, by_argument="question" in names, options=options)

    def describe(self) -> str:
        """The command line, as it was split into words."""
        return f"{self.name}:{shlex.join(self._words)}"

    def answer(self, case: Case) -> Prediction:
        """Run the command for one question. Raises SystemUnusable if it can no longer be started."""
        try:
            return with_retries(lambda: self._answer_once(case), self._options)
        except TryAgain as error:
            return failed(case, str(error), code=error.code)
        except QuestionFailed as error:
            return failed(case, str(error), code=error.code, rejected=error.rejected)

    def close(self) -> None:
        """Kill the commands that still run, with all processes that they started."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for process in running:
            process.kill()

    def _answer_once(self, case: Case) -> Prediction:
        started = monotonic()
        process = self._start([filled(word, case) for word in self._words])
        try:
            given = b"" if self._by_argument else (case.question + "\n").encode("utf-8", "replace")
            done = process.communicate(given, timeout_s=self._options.timeout_s)
        finally:
            with self._lock:
                self._running.discard(process)
        if done.trouble is not None:
            raise QuestionFailed(f"the command {done.trouble}", code="killed")
        if done.status != 0:
            how = f"ended with status {done.status}" if done.status > 0 else f"was killed by signal {-done.status}"
            said = _last_line(done.errors)
            message = f"the command {how}{': ' + said if said else ' without a message on standard error'}"
            code = f"status {done.status}" if done.status > 0 else f"signal {-done.status}"
            if done.status == TRY_AGAIN_STATUS:
                raise TryAgain(message, code=code)
            raise QuestionFailed(message, code=code, rejected=done.status in _REJECTIONS)
        text = done.output.decode("utf-8", "replace")
        said = _last_line(done.errors)
        query = text if text.strip() else None
        measured = (("wall_time", monotonic() - started),)
        found = None if query is None else _json_in(query)
        prediction = None
        if isinstance(found, list) or (isinstance(found, dict) and "rows" in found):
            prediction = answered_with_value(case, found, timings_s=measured)
        if prediction is None:
            prediction = answered(case, query, said=said, in_answer=False, timings_s=measured)
        return self._with_context(prediction, found) if isinstance(found, dict) else prediction

    def _with_context(self, prediction: Prediction, found: dict[Any, Any]) -> Prediction:
        """The answer with the context that the command reports. An invalid context is reported once."""
        try:
            context = context_beside(found)
        except InvalidContext as error:
            with self._lock:
                is_first, self._told_of_context = not self._told_of_context, True
            if is_first:
                warnings.warn(
                    f"in the answer to case {prediction.case_id}, {error}; such answers count as without a context",
                    UserWarning,
                    stacklevel=2,
                )
            return prediction
        if context == Context():
            return prediction
        return replace(prediction, context_tables=context.tables, context_columns=context.columns)

    def _start(self, words: list[str]) -> Process:
        with self._lock:
            if self._closed:
                raise QuestionFailed("the system was closed before it was asked")
            try:
                process = Process(words)
            except (FileNotFoundError, PermissionError) as error:
                raise SystemUnusable(f"the command {words[0]!r} cannot be started: {error.strerror}") from None
            except (OSError, ValueError) as error:
                raise QuestionFailed(f"the command cannot be started with this question: {error}") from None
            self._running.add(process)
            return process


def _json_in(text: str) -> object | None:
    """The value of an output that is JSON, perhaps in a code fence; a query never is."""
    fence = _FENCE.fullmatch(text.strip()) if "```" in text else None
    text = text if fence is None else fence[1]
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: object = read_json(text)
    except (ValueError, RecursionError):
        return None
    return found


def _last_line(content: bytes) -> str:
    lines = [line for line in content.decode("utf-8", "replace").splitlines() if line.strip()]
    return first_line(lines[-1]) if lines else ""


def split_words(line: str, *, backslashes: bool = os.sep == "\\") -> list[str]:
    """The words of a command line as a shell splits it. With ``backslashes``, these are parts of paths and stay."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split = True
    reader.commenters = ""
    if backslashes:
        reader.escape = ""
    return list(reader)


_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_KEPT_ERROR_BYTES = 64 * 1024
_PORTION_BYTES = 64 * 1024
_REAP_S = 2.0


class Done(Struct, frozen=True, kw_only=True):
    """How a command ended. ``trouble`` says why it was killed; None if it ended by itself."""

    status: int
    """The exit status; negative: minus the signal's number."""
    output: bytes
    errors: bytes
    """The end of standard error."""
    trouble: str | None = None


class Process:
    """A started command, in its own process group. Raises OSError and ValueError as Popen does."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=has_process_groups(),
        )
        self._output = bytearray()
        self._errors = bytearray()
        self._trouble: str | None = None

    def communicate(self, given: bytes, *, timeout_s: float) -> Done:
        """Write ``given`` to standard input, read all output, and wait; kill the command if it takes too long."""
        deadline = monotonic() + timeout_s
        threads = [
            Thread(target=self._write, args=(given,), daemon=True),
            Thread(target=self._read_output, daemon=True),
            Thread(target=self._read_errors, daemon=True),
        ]
        for thread in threads:
            thread.start()
        # Wait for the end of the output, not of the command: a child that it left running may still be writing.
        for thread in threads[1:]:
            thread.join(max(0.0, deadline - monotonic()))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - monotonic()))
        if self._process.returncode is None or any(thread.is_alive() for thread in threads[1:]):
            self._trouble = self._trouble or f"did not end within {timeout_s:g} s and was killed"
            self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
        for thread in threads:
            thread.join(_REAP_S)
        status = self._process.returncode
        return Done(
            status=-int(signal.SIGTERM) if status is None else status,
            output=bytes(self._output),
            errors=bytes(self._errors),
            trouble=self._trouble,
        )

    def kill(self) -> None:
        """Kill the command and all processes in its group. Harmless if it has ended."""
        if has_process_groups():
            # Children may outlive their leader, so the group is tried whether or not the leader has ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()

    def _write(self, given: bytes) -> None:
        stream = _stream(self._process.stdin)
        # A command need not read its input.
        with contextlib.suppress(OSError), stream:
            stream.write(given)

    def _read_output(self) -> None:
        with _stream(self._process.stdout) as stream:
            while portion := stream.read1(_PORTION_BYTES):  # type: ignore[attr-defined]
                self._output += portion
                if len(self._output) > _MAX_OUTPUT_BYTES:
                    self._trouble = f"wrote more than {_MAX_OUTPUT_BYTES // 2**20} MiB and was killed"
                    self._output.clear()
                    self.kill()
                    return

    def _read_errors(self) -> None:
        with _stream(self._process.stderr) as stream:
            while portion := stream.read1(_PORTION_BYTES):  # type: ignore[attr-defined]
                self._errors += portion
                del self._errors[:-_KEPT_ERROR_BYTES]


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("the process was started with pipes")
    return stream
