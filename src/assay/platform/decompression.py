"""Decompress a response body incrementally, so that the reader can stop long before it fills the memory.

A kilobyte of gzip may contain a megabyte, and one compressed twice a gigabyte. HTTP clients decompress each chunk
whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
"""For the header ``Accept-Encoding``: the supported encodings."""

_PORTION_BYTES = 1 << 16


class Unreadable(Exception):
    """The body has an encoding that was not requested, or not the one in its header. The message says which."""


def iter_decompressed(portions: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The chunks of a body, decoded by its ``Content-Encoding``; none is larger than 64 KiB if the body is compressed.

    Some are empty, so that a reader may check the time. Raises Unreadable.
    """
    packings = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not packings:
        yield from portions
    elif len(packings) > 1 or packings[0] not in ("gzip", "x-gzip", "deflate"):
        raise Unreadable(f"its response has the encoding {encoding[:60]!r} instead of {ACCEPTED}")
    else:
        is_gzip = packings[0] != "deflate"
        inflater = None
        rest = b""
        is_whole, has_more = True, False
        for portion in portions:
            rest += portion
            while rest or has_more:
                if inflater is None:
                    if len(rest) < 2:
                        break  # the first two bytes tell the format
                    inflater = zlib.decompressobj(_window(rest, is_gzip=is_gzip))
                try:
                    piece = inflater.decompress(rest, _PORTION_BYTES)
                except zlib.error as error:
                    raise Unreadable(f"its response cannot be decompressed ({error})") from error
                rest, is_whole = inflater.unconsumed_tail, inflater.eof
                # The decoder may have consumed all input while some output is still pending.
                has_more = len(piece) == _PORTION_BYTES and not is_whole
                if is_whole:  # another member may follow
                    rest, inflater = (inflater.unused_data if is_gzip else b""), None
                yield piece
            yield b""
        if rest or not is_whole:
            raise Unreadable("its response cannot be decompressed (it is truncated)")


def _window(beginning: bytes, *, is_gzip: bool) -> int:
    if is_gzip:
        return zlib.MAX_WBITS | 16
    # The standard's "deflate" has zlib's header; many servers send it without.
    has_header = beginning[0] & 0x0F == 8 and int.from_bytes(beginning[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
