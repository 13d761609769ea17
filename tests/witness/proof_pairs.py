"""Pairs of queries over one small schema: such as mean the same on every database, each with a twin that does not."""

from __future__ import annotations

from pathlib import Path

SCHEMA = """
CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, budget INTEGER);
CREATE TABLE player (
    id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL REFERENCES team (id), name TEXT NOT NULL,
    nick TEXT UNIQUE, age INTEGER, goals INTEGER NOT NULL, mentor_id INTEGER REFERENCES player (id)
);
CREATE TABLE game (
    id INTEGER PRIMARY KEY, home_id INTEGER NOT NULL REFERENCES team (id), away_id INTEGER REFERENCES team (id),
    crowd INTEGER, season INTEGER NOT NULL
);
CREATE TABLE part (
    player_id INTEGER NOT NULL REFERENCES player (id), game_id INTEGER NOT NULL REFERENCES game (id),
    minutes INTEGER, PRIMARY KEY (player_id, game_id)
);
"""


def _triples() -> list[tuple[str, str, str, str]]:
    """Read the pairs: a kind, a query, an equal one, and one that is nearly equal."""
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    found = []
    for part in text.split("\n\n")[1:]:
        kind, one, other, twin = (line.strip().lstrip("-=! ").rstrip(";") for line in part.strip().splitlines())
        found.append((kind, one, other, twin))
    return found


TRIPLES = _triples()
