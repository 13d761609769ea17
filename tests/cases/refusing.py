"""What is said of files that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.errors import InputError


def assert_refused(
    read: Callable[[Path], object], path: Path, place: str | None, says: str | Sequence[str]
) -> InputError:
    """Reading the file fails with a message that begins with it and the place, and says all of that."""
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, {place}: " if place else str(path)), message
    assert [part for part in ([says] if isinstance(says, str) else says) if part not in message] == [], message
    return caught.value
