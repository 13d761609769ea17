"""The reference, made from the code:  python scripts/reference  writes it, with --check it says what is out of date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from made_pages import made_pages, out_of_date

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Write the pages, or check them; 1 if a checked page is out of date."""
    parser = argparse.ArgumentParser(prog="python scripts/reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if a page is out of date")
    asked = parser.parse_args()
    pages = made_pages()
    stale = out_of_date(ROOT, pages)
    for path in stale:
        print(f"{'out of date' if asked.check else 'written'}: {path}")
        if asked.check:
            continue
        if path in pages:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(pages[path], encoding="utf-8")
        else:
            (ROOT / path).unlink()
    return 1 if asked.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
