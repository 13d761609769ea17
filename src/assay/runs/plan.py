"""Plan the work: batches by database and gold query, so that a gold query rarely runs in two workers."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeAlias, overload

from msgspec import Struct, field
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import Case, DatabaseUrl, MetricInfo, Prediction, Provenance, RunSettings
from assay.model.lint import LintReport
from assay.model.witness import WitnessSettings
from assay.platform.spool import Spool, parts_of, spooled
from assay.ports import CaseScorer, Metric, QueryRequest
from assay.runs.progress import Progress
from assay.runs.reviews.collection import Reviews
from assay.runs.store.codec import identity_of, identity_without_origin, pack_task, within_size
from assay.sql.extraction import extracted, written
from assay.sql.extraction.completions import completed

_BATCHES_PER_WORKER = 8
"""Enough that a free worker finds work until near the end, few enough that batches are whole databases."""
_MOST_IN_BATCH = 512
"""A worker's tasks are made when it takes a batch: this bounds their memory, whatever the size of the run."""
_MOST_AT_ONCE = 16
"""The largest batch of what arrives while workers are at work."""


class Work(Struct, frozen=True, kw_only=True, array_like=True):
    """One case to score, as a run plans it and as a worker takes it."""

    index: int = 0
    """Zero-based position in the question set."""
    case: Case
    prediction: Prediction
    url: DatabaseUrl
    gold_url: DatabaseUrl | None = None
    """The database of the gold queries, if that is another one."""
    attempt: int = 0
    """The number of the attempt. Each attempt has connections, results and losses of its own."""
    requests: tuple[QueryRequest, ...] = ()
    """The queries that metrics outside the worker need executed."""
    keep_rows: bool = False
    """Send the rows back too, for metrics outside the worker."""
    head_rows: int = 0
    """How many first rows of each result to send back, for display."""


Locate: TypeAlias = Callable[..., DatabaseUrl]
"""From a case's database name, and its engine if the case has one, to the URL of its database. Raises InputError if
there is none."""


def database_key(case: Case) -> Hashable:
    """What tells a case's database from the others of its question set."""
    return case.database if case.engine is None else (case.engine, case.database)


def url_of(case: Case, locate: Locate) -> DatabaseUrl:
    """The URL of a case's database. Raises InputError if there is none."""
    return locate(case.database) if case.engine is None else locate(case.database, case.engine)


class Database(NamedTuple):
    """A database of a question set."""

    url: DatabaseUrl
    origin: str | None
    """The place of the first case on it, for messages."""


def databases_of(cases: Sequence[Case], locate: Locate) -> dict[Hashable, Database]:
    """The databases by `database_key`. Raises InputError, naming a case without a database.

    A case with a known id and nothing else (`assay.model.failure.NOT_IN_LOG`) executes nothing, so any will do.
    """
    found: dict[Hashable, Database] = {}
    for index, case in enumerate(parts_of(cases, "id", "database", "engine", "origin")):
        if (key := database_key(case)) not in found:
            try:
                url = url_of(case, locate)
            except InputError as error:
                if found and not (case.database or cases[index].question or cases[index].gold_count):
                    found[key] = next(iter(found.values()))
                    continue
                raise InputError(f"{case.origin or 'case ' + case.id}: {error}") from error
            found[key] = Database(url, f"{case.origin} (db_id {case.database})" if case.database else None)
    return found


def plan_work(
    cases: Sequence[Case],
    predictions: Sequence[Prediction],
    locate: Locate,
    locate_gold: Locate | None = None,
    *,
    extract: bool = True,
) -> list[Work]:
    """Combine each case with its answer and its database. Raises InputError, naming a case without a database.

    ``locate_gold`` gives the databases of the gold queries, where they have their own.
    """
    golds = None if locate_gold is None else databases_of(cases, locate_gold)
    return list(works_of(cases, predictions, databases_of(cases, locate), golds, extract=extract))


def works_of(
    cases: Sequence[Case],
    predictions: Sequence[Prediction],
    databases: Mapping[Hashable, Database],
    gold_databases: Mapping[Hashable, Database] | None = None,
    *,
    extract: bool = True,
) -> Iterator[Work]:
    """As `plan_work`, one after the other."""
    for index, (case, prediction) in enumerate(zip(cases, predictions, strict=True)):
        key = database_key(case)
        url = databases[key].url
        gold_url = None if gold_databases is None else gold_databases[key].url
        evaluated = to_judge(case, prediction, extract=extract)
        yield Work(index=index, case=case, prediction=evaluated, url=url, gold_url=gold_url)


def to_judge(case: Case, prediction: Prediction, *, extract: bool) -> Prediction:
    """The prediction as it is evaluated: within the size that is kept, and with the query in its text.

    ``extract`` False: with the text as it came.
    """
    prediction = within_size(prediction)
    if case.options.table is not None:
        return completed(case, prediction)
    return extracted(prediction) if extract else written(prediction)


def digest_of(work: Work, bases: Mapping[str, str]) -> str:
    """A hash of everything that determines a case's evidence besides the run's settings: its content, not its place.

    ``bases`` identify, by URL, each database's content and the versions that judge.
    """
    # The case's place in its file is left out, and so is the database's password.
    parts = [identity_without_origin(work.case), identity_without_origin(work.prediction)]
    parts += [_where(url, bases.get(url.text, "")) for url in (work.url, work.gold_url) if url is not None]
    return blake2b(b"".join(parts), digest_size=12).hexdigest()


@lru_cache(maxsize=1024)
def _where(url: DatabaseUrl, basis: str) -> bytes:
    return identity_of(str(url)) + identity_of(basis)


def plan_places(
    places: Sequence[int],
    database_of: Callable[[int], Hashable],
    gold_of: Callable[[int], Hashable],
    workers: int,
) -> list[Sequence[int]]:
    """Batches of places, largest first, each on one database.

    Cases on one database that share their (first) gold query stay together, as far as a batch goes: each worker runs a
    query once, and looks for its ties once. Cases that share a prediction need not: running it in each worker costs
    less than an idle worker.
    """
    by_database: dict[Hashable, array[int]] = defaultdict(lambda: array("q"))
    for place in places:
        by_database[database_of(place)].append(place)
    size = max(1, min(_MOST_IN_BATCH, len(places) // (workers * _BATCHES_PER_WORKER)))
    batches: list[Sequence[int]] = []
    for group in by_database.values():
        if len(group) <= size:
            batches.append(group)
            continue
        alike: dict[Hashable, array[int]] = defaultdict(lambda: array("q"))
        for place in group:
            alike[gold_of(place)].append(place)
        batches.extend(_fill(sorted(alike.values(), key=len, reverse=True), size))
    return sorted(batches, key=len, reverse=True)


class Waiting:
    """Cases that are there before workers are free for them: small batches, each on one database, the oldest first."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._by_database: dict[str, deque[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, place: int, database: str) -> None:
        """Let the case at that place wait."""
        self._by_database.setdefault(database, deque()).append(place)
        self._count += 1

    def batch(self) -> list[int]:
        """What a free worker should do next; empty if nothing waits."""
        if not self._count:
            return []
        name = next(iter(self._by_database))
        queue = self._by_database.pop(name)
        size = min(len(queue), _MOST_AT_ONCE, -(-self._count // self._workers))
        found = [queue.popleft() for _ in range(size)]
        if queue:
            self._by_database[name] = queue  # behind the others
        self._count -= size
        return found


def _fill(groups: Iterable[Sequence[int]], size: int) -> list[Sequence[int]]:
    batches: list[array[int]] = []
    for group in groups:
        if batches and len(batches[-1]) + len(group) <= size:
            batches[-1].extend(group)
        else:
            batches.extend(array("q", group[start : start + size]) for start in range(0, len(group), size))
    return list(batches)


_DIGEST_BYTES = 12


class Works(Sequence[Work]):
    """The work of a run, in the order of the question set. The answers of a live system come later.

    More than `LARGE` works lie in a temporary file, as 100,000 take 150 MB as objects. Then the encoded form of a work
    is both its line in that file and its worker's task, so that the main process never decodes it. Digests, databases
    and hashes of gold queries are in memory.
    """

    def __init__(self, works: Iterable[Work], bases: Mapping[str, str]) -> None:
        """``bases``: see `assay.runs.plan.digest_of`."""
        self._bases = bases
        self._digests = bytearray()
        self._golds = array("q")
        self._urls: dict[DatabaseUrl, int] = {}
        self._url_at = array("I")
        self._answered: dict[int, Work] = {}
        """Works whose answers came later."""
        self._works = spooled(map(self._noted, works), Work)
        self._url_of = list(self._urls)

    def _noted(self, work: Work) -> Work:
        self._digests += bytes.fromhex(digest_of(work, self._bases))
        self._golds.append(hash(work.case.golds[:1]))
        self._url_at.append(self._urls.setdefault(work.url, len(self._urls)))
        return work

    def __len__(self) -> int:
        return len(self._url_at)

    @overload
    def __getitem__(self, index: int) -> Work: ...
    @overload
    def __getitem__(self, index: slice) -> list[Work]: ...
    def __getitem__(self, index: int | slice) -> Work | list[Work]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return self._answered.get(index) or self._works[index]

    def answer(self, index: int, prediction: Prediction) -> None:
        """Set the prediction of a work."""
        work = self._answered[index] = replace(self[index], prediction=prediction)
        self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)] = bytes.fromhex(digest_of(work, self._bases))

    def tasks(self, indices: Sequence[int]) -> list[object]:
        """Works in the form in which a worker takes them."""
        if not isinstance(self._works, Spool) or any(index in self._answered for index in indices):
            return [pack_task(self[index]) for index in indices]
        lines = self._works.lines(indices)
        return [line or self._works[index] for index, line in zip(indices, lines, strict=True)]

    def url(self, index: int) -> DatabaseUrl:
        """The database of a work."""
        return self._url_of[self._url_at[index]]

    def gold(self, index: int) -> int:
        """A hash of the first gold query of a work."""
        return self._golds[index]

    def digest(self, index: int) -> str:
        """The digest of a work."""
        return self._digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)].hex()


OnProgress: TypeAlias = Callable[[Progress], None]


class Job(Struct, frozen=True, kw_only=True):
    """A run to be executed."""

    settings: RunSettings
    provenance: Provenance
    works: Works
    metrics: Sequence[Metric | MetricInfo]
    """All metrics in the run's order."""
    local_metrics: Sequence[Metric] = ()
    """The metrics that workers cannot load by name: they score in this process, on rows sent back."""
    scorer: CaseScorer | None = None
    """Scores the cases in this process, without workers; None: workers judge them."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Per database URL, a hash of its content and of the versions that judge: see `digest_of`."""
    witness: WitnessSettings | None = None
    """How to look for witnesses of the matches; None: not at all."""
    lint: LintReport | None = None
    """What is doubtful about the gold queries; None: no lint."""
    reviews: Reviews | None = None
    """What people decided about the question set; None: no reviews."""
