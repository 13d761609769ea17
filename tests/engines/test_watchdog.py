"""What a process does for its servers before it ends."""

from __future__ import annotations

import threading

from assay.engines.watchdog import Watchdog, interrupt_all


def test_an_end_waits_for_what_an_interruption_does_in_a_thread_of_its_own() -> None:
    """A server that is slow to take the order to stop gets it all the same: else its query would go on alone."""
    asked, told = threading.Event(), threading.Event()

    def order() -> None:
        asked.wait()
        told.set()

    def interrupt() -> None:
        threading.Thread(target=order, daemon=True).start()
        threading.Timer(0.05, asked.set).start()

    watchdog = Watchdog(interrupt)
    watchdog.start(600.0)
    try:
        interrupt_all()
        assert told.is_set()
    finally:
        watchdog.stop()
        watchdog.close()
