"""Bodies of answers are unpacked a little at a time, and what they are is told from how they are sent."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.platform.decompression import Unreadable, iter_decompressed
from many_cases import each


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKED = {
    "gzip": gzip.compress,
    "x-gzip": lambda content: gzip.compress(content[:5]) + gzip.compress(content[5:]),
    "deflate": zlib.compress,
    " Deflate, identity": deflated,
    "": bytes,
    "identity": bytes,
}


def pieces(content: bytes, size: int) -> list[bytes]:
    return [content[place : place + size] for place in range(0, len(content), size)]


@given(content=st.binary(max_size=3000), encoding=st.sampled_from(list(PACKED)), size=st.integers(1, 700))
def test_however_it_is_packed_and_cut_up_the_content_is_the_same(content: bytes, encoding: str, size: int) -> None:
    assert b"".join(iter_decompressed(pieces(PACKED[encoding](content), size), encoding)) == content


@each("encoding", ["gzip", "deflate"])
@each("size", [1, 7, 1000])
def test_a_large_body_in_small_pieces_is_the_same(encoding: str, size: int) -> None:
    content = bytes(300_000) + b"x" * 65_536 * 3 + bytes(range(256)) * 500
    assert b"".join(iter_decompressed(pieces(PACKED[encoding](content), size), encoding)) == content


@given(
    content=st.binary(min_size=1, max_size=300), encoding=st.sampled_from(["gzip", "deflate"]), lost=st.integers(1, 9)
)
def test_what_was_cut_off_is_never_taken_for_whole(content: bytes, encoding: str, lost: int) -> None:
    packed = PACKED[encoding](content)
    with pytest.raises(Unreadable, match="truncated"):
        list(iter_decompressed([packed[: max(1, len(packed) - lost)]], encoding))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_inflates_without_end_comes_in_small_portions(encoding: str) -> None:
    packed = PACKED[encoding](bytes(40 << 20))
    taken = 0

    def one() -> Iterator[bytes]:
        nonlocal taken
        taken += 1
        yield packed

    portions = iter_decompressed(one(), encoding)
    assert all(len(next(portions)) <= 1 << 16 for _ in range(100))
    assert taken == 1


@each("encoding", ["br", "zstd", "compress", "gzip, gzip", "deflate,gzip", "x"])
def test_what_was_not_asked_for_is_not_unpacked(encoding: str) -> None:
    with pytest.raises(Unreadable, match=r"has the encoding .* instead of gzip, deflate"):
        list(iter_decompressed([b"anything"], encoding))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_is_not_packed_and_says_so_is_named(encoding: str) -> None:
    with pytest.raises(Unreadable, match="cannot be decompressed"):
        list(iter_decompressed([b'{"answer": 1}'], encoding))
