"""Databases on a cluster's node: in the place where the driver has them, or in the node's cache, by their content."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import time
from urllib.parse import quote

from assay.engines.database_files import fingerprint_file
from assay.engines.loading import engine_for
from assay.errors import DatabaseError, InputError
from assay.model import DatabaseUrl
from assay.ports import NeededDatabase
from assay.runs.backends.bundle import Bundle, is_file, is_whole

CACHE_VARIABLE = "ASSAY_NODE_CACHE"
"""The environment variable that names the folder in which a node keeps databases."""
_LEFT_S = 24 * 3600.0
"""Age after which unfinished files count as abandoned."""
_SLACK = 1.1
"""How much more room than its size a database is given."""


class NodeDatabases:
    """Finds databases on this node: in the place where the driver has them, or in the node's cache, by their
    content."""

    def __init__(self, engines: Mapping[str, str], cache: Path | None = None) -> None:
        self.places: dict[str, DatabaseUrl] = {}
        """Where each located database is, by its URL on the driver."""
        self._engines = engines
        self._cache = cache or _cache_folder()
        self._incoming: dict[str, Path] = {}

    def locate(self, needed: NeededDatabase, bundle: Bundle | None = None) -> bool:
        """Find a database; from then on tasks on it are done in its place. False: its files must be sent first.

        ``bundle`` says which files those are. Raises InputError if the database cannot be used on this node.
        """
        engine = engine_for(needed.url, self._engines)
        version = engine.version()
        if version != needed.version:
            raise InputError(
                f"the engine of {needed.url.scheme} databases has version {version} on this node, and "
                f"{needed.version} on the driver: install the same on both"
            )
        path = needed.url.path
        if not is_file(engine, needed.url):
            engine.check(needed.url)
        elif not (os.path.isabs(path) and os.path.isfile(path) and _fingerprint(path) == needed.fingerprint):
            return bundle is not None and self._in_cache(needed, bundle)
        self.places[needed.url.text] = needed.url
        return True

    def receive(self, digest: str, name: str, chunk: bytes) -> None:
        """Take the next piece of a file of the bundle with this digest."""
        if name != os.path.basename(name) or name in ("", ".", ".."):
            raise InputError(f"{name!r} is not a name of a file")
        try:
            folder = self._incoming.get(digest)
            if folder is None:
                self._make_cache()
                folder = self._incoming[digest] = Path(tempfile.mkdtemp(prefix="incoming-", dir=self._cache))
            with open(folder / name, "ab") as file:
                file.write(chunk)
        except OSError as error:
            if folder := self._incoming.pop(digest, None):
                shutil.rmtree(folder, ignore_errors=True)
            raise self._full(error) from error

    def _in_cache(self, needed: NeededDatabase, bundle: Bundle) -> bool:
        target = self._cache / bundle.digest
        held = target / bundle.folder
        try:
            if digest_folder := self._incoming.pop(bundle.digest, None):
                if not is_whole(str(digest_folder), bundle.files):
                    shutil.rmtree(digest_folder, ignore_errors=True)
                    raise DatabaseError(f"{needed.url} changed while it was sent: run the same command again")
                # Give received files their place, at once: another process of this node may be fetching them, too.
                whole = Path(tempfile.mkdtemp(prefix="whole-", dir=self._cache))
                os.rename(digest_folder, whole / held.name)
                try:
                    os.rename(whole, held.parent)
                except OSError:
                    shutil.rmtree(whole, ignore_errors=True)
                    if not held.is_dir():
                        raise
            if not held.is_dir():
                self._check_room(bundle)
                return False
            if not is_whole(str(held), bundle.files):  # someone changed the cache: fetch it again
                shutil.rmtree(target, ignore_errors=True)
                return False
        except OSError as error:
            raise self._full(error) from error
        path = os.path.join(held, bundle.files[0].name)
        text = f"{needed.url.scheme}:///{quote(path, safe='/: ', errors='surrogateescape')}"
        options = needed.url.text.partition("?")[2]
        self.places[needed.url.text] = DatabaseUrl(text=f"{text}?{options}" if options else text)
        return True

    def _check_room(self, bundle: Bundle) -> None:
        self._make_cache()
        free = shutil.disk_usage(self._cache).free
        if free < bundle.size * _SLACK:
            raise InputError(
                f"{self._cache} has {free:,} bytes left for a database of {bundle.size:,}: make room, or name another "
                f"folder in {CACHE_VARIABLE} on the node"
            )

    def _make_cache(self) -> None:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self._cache.glob("incoming-*"):  # of a run that was killed
            with suppress(OSError):
                if time() - left.stat().st_mtime > _LEFT_S:
                    shutil.rmtree(left, ignore_errors=True)
        if hasattr(os, "getuid") and os.stat(self._cache).st_uid != os.getuid():
            raise InputError(f"{self._cache} belongs to another user: name another folder in {CACHE_VARIABLE}")

    def _full(self, error: OSError) -> InputError:
        return InputError(
            f"{self._cache} cannot keep a database ({error.strerror or error}): name another folder in "
            f"{CACHE_VARIABLE} on the node"
        )


def _fingerprint(path: str) -> str | None:
    try:
        return fingerprint_file(path)
    except OSError:
        return None


def _cache_folder() -> Path:
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    return Path(tempfile.gettempdir()) / f"assay-databases-{os.getuid() if hasattr(os, 'getuid') else 'all'}"
