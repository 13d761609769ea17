"""Where a run's reviews are, and the files that the run names by paths relative to the folder it was made in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from os.path import normpath
from pathlib import Path

from assay.errors import RunError
from assay.model import Fingerprint, Provenance, RunSettings
from assay.model.verdicts.review import REVIEWS_FILE
from assay.runs.reviews.file import reviews_beside
from assay.runs.store.folder import load_run

_COMPARED = 50
"""How many questions tell a question set that was edited from another one."""


def reviews_file(folder: Path, settings: RunSettings, provenance: Provenance) -> Path | None:
    """Where the reviews of a stored run are, or will be: in the file that it was made with, or next to its question
    set.

    None: neither is found from here.
    """
    cases = question_set(folder, settings, provenance)
    if provenance.reviews is not None and (named := _seen_from(folder, provenance.reviews)).is_file():
        beside = named.parent / Path(settings.cases).name
        is_of_another_set = named.name == REVIEWS_FILE and beside.is_file()
        if not is_of_another_set or (cases is not None and cases.samefile(beside)):
            return named
    return None if cases is None else reviews_beside(cases)


def question_set(folder: Path, settings: RunSettings, provenance: Provenance) -> Path | None:
    """The question set of a stored run: as seen from the run's folder, or else under the path that the run names.

    A file is the run's question set if it has the same content, or, since it may have been edited, most of the run's
    questions. None: it is not found from here.
    """
    if not settings.cases:
        return None
    placed = () if provenance.cases is None else (_seen_from(folder, provenance.cases),)
    every = (*placed, *(base / settings.cases for base in bases(folder)))
    paths = [path for path in dict.fromkeys(every) if path.exists()]
    digests = {one.digest for one in provenance.inputs}
    fitting = (path for path in paths if fingerprint_file(str(path)).digest in digests or _has_questions(path, folder))
    return next(fitting, None)


def _seen_from(folder: Path, path: str) -> Path:
    """A path relative to a folder, without ``..`` unless that leads elsewhere, as it may through a link."""
    plain = Path(normpath(folder / path))
    return plain if plain.exists() and plain.samefile(folder / path) else folder / path


def _has_questions(path: Path, folder: Path) -> bool:
    """Whether a file holds most of the questions of a stored run."""
    try:
        content = path.read_text(encoding="utf-8-sig", errors="replace")
        evidence = load_run(folder).evidence
    except (OSError, RunError):
        return False
    cases = [evidence[place].case for place in range(min(len(evidence), _COMPARED))]
    texts = [case.question or "".join(case.golds[:1]) for case in cases]
    found = [text for text in texts if any(form in content for form in _forms(text))]
    return bool(texts) and 2 * len(found) > len(texts)


def _forms(text: str) -> Iterator[str]:
    """A text as files of several formats have it."""
    yield text
    yield text.replace('"', '""')
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]


def bases(folder: Path) -> Iterator[Path]:
    """The folders that a run's relative paths may start from: those around the run, then the current one."""
    yield from folder.absolute().parents
    yield Path()


def fingerprint_file(path: str) -> Fingerprint:
    """A hash of a file's content; for a folder, of the sorted names and contents of all its files except reviews."""
    named = Path(path)
    if not named.is_dir():
        return Fingerprint(name=named.name, digest=_digest(named))
    files = sorted((file.relative_to(named).as_posix(), file) for file in named.rglob("*") if _is_input(file))
    whole = blake2b(digest_size=16)
    for name, file in files:
        whole.update(f"{_digest(file)} {name}\0".encode("utf-8", "surrogateescape"))
    return Fingerprint(name=named.resolve().name, digest=whole.hexdigest())


def _is_input(file: Path) -> bool:
    return file.is_file() and file.name != REVIEWS_FILE


def _digest(path: Path) -> str:
    digest = blake2b(digest_size=16)
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
