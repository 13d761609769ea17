"""Pick one of an artefact's names by language."""

from __future__ import annotations

from collections.abc import Sequence


def name_in(names: Sequence[tuple[str, str]], language: str) -> str | None:
    """The name in that language, else in a variant of it, else in English, else the first; None without any.

    ``names`` are pairs of language and text. Outer spaces do not count, and a blank name is none.
    """
    if len(names) == 1:
        return names[0][1].strip() or None
    given = [(key.casefold().replace("_", "-"), text.strip()) for key, text in names if text.strip()]
    wanted = language.casefold().replace("_", "-")
    for key, text in given:
        if key == wanted:
            return text
    for base in (wanted.partition("-")[0], "en"):
        for key, text in given:
            if key.partition("-")[0] == base:
                return text
    return given[0][1] if given else None
