"""The body of an answer, unpacked a little at a time: whoever reads it can stop long before it fills the memory.

A kilobyte of gzip may hold a megabyte, and what is packed twice a gigabyte. HTTP clients unpack a portion whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
"""For the header ``Accept-Encoding``: what can be unpacked."""

_PORTION_BYTES = 1 << 16


class Unreadable(Exception):
    """The body is packed in a way that was not asked for, or not as its header says. The text says which."""


def unpacked(portions: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The portions of a body as they are under its ``Content-Encoding``, none larger than 64 KiB where it is packed.

    Some are empty, so that a reader may look at the clock. Raises Unreadable.
    """
    packings = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not packings:
        yield from portions
    elif len(packings) > 1 or packings[0] not in ("gzip", "x-gzip", "deflate"):
        raise Unreadable(f"its answer is packed as {encoding[:60]!r}, where {ACCEPTED} was asked for")
    else:
        yield from _inflated(portions, is_gzip=packings[0] != "deflate")


def _inflated(portions: Iterable[bytes], *, is_gzip: bool) -> Iterator[bytes]:
    inflater = None
    rest = b""
    is_whole, has_more = True, False
    for portion in portions:
        rest += portion
        while rest or has_more:
            if inflater is None:
                if len(rest) < 2:
                    break  # the first two bytes say how it is packed
                inflater = zlib.decompressobj(_window(rest, is_gzip=is_gzip))
            try:
                piece = inflater.decompress(rest, _PORTION_BYTES)
            except zlib.error as error:
                raise Unreadable(f"its answer cannot be decompressed ({error})") from error
            rest, is_whole = inflater.unconsumed_tail, inflater.eof
            # All of the input may be taken in, and not all of the output be out.
            has_more = len(piece) == _PORTION_BYTES and not is_whole
            if is_whole:  # another member may follow
                rest, inflater = (inflater.unused_data if is_gzip else b""), None
            yield piece
        yield b""
    if rest or not is_whole:
        raise Unreadable("its answer cannot be decompressed (it was cut off)")


def _window(beginning: bytes, *, is_gzip: bool) -> int:
    if is_gzip:
        return zlib.MAX_WBITS | 16
    # "deflate" is zlib's form by the standard, and bare by custom.
    has_header = beginning[0] & 0x0F == 8 and int.from_bytes(beginning[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
