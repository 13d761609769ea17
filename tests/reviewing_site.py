"""The server of a review page, in the tests' own process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from assay.cli.view.review import ReviewSite
from assay.cli.view.server import ReportServer


@contextmanager
def serving(site: ReviewSite, port: int = 0) -> Iterator[ReportServer]:
    """A server that answers until the block ends."""
    ended = threading.Event()

    def serve() -> None:
        server.timeout = 0.05
        while not ended.is_set():
            server.handle_request()

    site.find("/", "")
    with closing(site), ReportServer(site, port) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            thread.join(60)
