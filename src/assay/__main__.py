"""`assay` and `python -m assay`."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from assay.cli.streams import flush_streams, settle_streams


def main() -> None:
    """Run the command line and exit with its status."""
    settle_streams()
    # As in workers: a run keeps its values to the end, and the garbage collector would search them all for cycles.
    gc.set_threshold(100_000, 50, 50)
    try:
        from assay.cli.early import start_workers

        start_workers(sys.argv[1:])
        from assay.cli.app import UNUSABLE_INPUT, run_command_line

        if _is_the_program():
            # What is imported by now stays to the end: the last search for cycles need not go through it.
            gc.freeze()
        status = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    except Exception as error:  # noqa: BLE001 - an installation that is broken: status 1 would say that a gate is missed
        print(f"assay: cannot start: {type(error).__name__}: {error}", file=sys.stderr)
        status = 70
    if (trouble := flush_streams()) is not None and status == 0:
        status = UNUSABLE_INPUT
        print(f"assay: error: the output cannot be written ({trouble.strerror})", file=sys.stderr)
    sys.exit(status)


def _is_the_program() -> bool:
    """Whether the process was started for this command, and not for a program that calls it."""
    return any(Path(one).stem == "assay" for one in sys.orig_argv[1:3])


if __name__ == "__main__":
    main()
