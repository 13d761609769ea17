"""Each rule by itself: pairs made by applying it to random parts, and near misses in which its side condition fails."""

from __future__ import annotations

import random

from looking import schema_of

from assay.model import Proof
from assay.witness.proof import prove
from many_cases import each

from .proof_pairs import SCHEMA
from .random_databases import differences

SQLITE = schema_of(SCHEMA)

JOINED = "SELECT t.name, COUNT(*) FROM team t JOIN player p ON p.team_id = t.id WHERE {c}"
COUNTED = (
    "SELECT t.name, d.n FROM team t"
    " JOIN (SELECT p.team_id AS k, COUNT(*) AS n FROM player p WHERE {c} GROUP BY p.team_id) d"
    " ON d.k = t.id WHERE d.n > 1"
)
INNER = "(SELECT team_id, goals, COUNT(*) AS n, MAX(age) AS m FROM player p WHERE {c} GROUP BY team_id, goals) AS d"
RULES = {
    # name: a query, what the rule makes of it, and near misses of that; {c} is a random condition on player p
    "drop_parent": (
        "SELECT p.name FROM player p JOIN team t ON p.team_id = t.id WHERE {c}",
        "SELECT p.name FROM player p WHERE {c}",
        ["SELECT p.name FROM player p JOIN player t ON p.mentor_id = t.id WHERE {c}"],
    ),
    "drop_unused_left": (
        "SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id WHERE {c}",
        "SELECT p.name FROM player p WHERE {c}",
        ["SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.age WHERE {c}"],
    ),
    "left_to_inner": (
        "SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id WHERE m.goals > 1 AND {c}",
        "SELECT p.name FROM player p JOIN player m ON p.mentor_id = m.id WHERE m.goals > 1 AND {c}",
        ["SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id AND m.goals > 1 WHERE {c}"],
    ),
    "left_to_absence": (
        "SELECT p.name FROM player p LEFT JOIN part x ON x.player_id = p.id WHERE x.player_id IS NULL AND {c}",
        "SELECT p.name FROM player p WHERE NOT EXISTS (SELECT 1 FROM part x WHERE x.player_id = p.id) AND {c}",
        ["SELECT p.name FROM player p LEFT JOIN part x ON x.player_id = p.id WHERE x.minutes IS NULL AND {c}"],
    ),
    "merge_same_row": (
        "SELECT p.name, q.age FROM player p JOIN player q ON p.id = q.id WHERE {c}",
        "SELECT p.name, p.age FROM player p WHERE {c}",
        ["SELECT p.name, q.age FROM player p JOIN player q ON p.team_id = q.team_id WHERE {c}"],
    ),
    "join_existing": (
        "SELECT p.name FROM player p WHERE p.team_id IN (SELECT id FROM team WHERE budget > 1) AND {c}",
        "SELECT p.name FROM player p JOIN team t ON p.team_id = t.id WHERE t.budget > 1 AND {c}",
        ["SELECT p.name FROM player p JOIN team t ON p.age = t.budget WHERE t.budget > 1 AND {c}"],
    ),
    "duplicates_do_not_count": (
        "SELECT DISTINCT p.age FROM player p WHERE p.id IN (SELECT player_id FROM part) AND {c}",
        "SELECT DISTINCT p.age FROM player p JOIN part x ON x.player_id = p.id WHERE {c}",
        ["SELECT p.age FROM player p JOIN part x ON x.player_id = p.id WHERE {c}"],
    ),
    "not_in": (
        "SELECT p.name FROM player p WHERE p.id NOT IN (SELECT player_id FROM part) AND {c}",
        "SELECT p.name FROM player p WHERE NOT EXISTS (SELECT 1 FROM part x WHERE x.player_id = p.id) AND {c}",
        [
            "SELECT p.name FROM player p WHERE p.id NOT IN (SELECT mentor_id FROM player) AND {c}",
            "SELECT p.name FROM player p WHERE p.mentor_id NOT IN (SELECT player_id FROM part) AND {c}",
        ],
    ),
    "having_to_where": (
        "SELECT p.team_id, COUNT(*) FROM player p WHERE {c} GROUP BY p.team_id HAVING p.team_id > 1",
        "SELECT p.team_id, COUNT(*) FROM player p WHERE {c} AND p.team_id > 1 GROUP BY p.team_id",
        ["SELECT p.team_id, COUNT(*) FROM player p WHERE {c} AND p.goals > 1 GROUP BY p.team_id"],
    ),
    "groups_through_keys": (
        "SELECT t.name, COUNT(*) FROM player p JOIN team t ON p.team_id = t.id WHERE {c} GROUP BY t.id, t.name",
        "SELECT t.name, COUNT(p.goals) FROM team t JOIN player p ON p.team_id = t.id WHERE {c} GROUP BY p.team_id",
        ["SELECT t.name, COUNT(*) FROM player p JOIN team t ON p.team_id = t.id WHERE {c} GROUP BY t.name"],
    ),
    "ungroup": (
        "SELECT p.id, MAX(p.age), COUNT(*) FROM player p WHERE {c} GROUP BY p.id",
        "SELECT p.id, p.age, 1 FROM player p WHERE {c}",
        ["SELECT p.nick, MAX(p.age), COUNT(*) FROM player p WHERE {c} GROUP BY p.nick"],
    ),
    "drop_distinct": (
        "SELECT DISTINCT p.id, p.age FROM player p WHERE {c}",
        "SELECT p.id, p.age FROM player p WHERE {c}",
        ["SELECT DISTINCT p.team_id, p.age FROM player p WHERE {c}"],
    ),
    "nullable_unique_is_no_key": (
        "SELECT DISTINCT p.nick FROM player p WHERE {c} AND p.nick IS NOT NULL",
        "SELECT p.nick FROM player p WHERE {c} AND p.nick IS NOT NULL",
        ["SELECT p.nick FROM player p WHERE {c}"],
    ),
    "union_of_cases": (
        "SELECT p.id FROM player p WHERE {c} UNION SELECT p.id FROM player p WHERE p.goals = 2",
        "SELECT p.id FROM player p WHERE {c} OR p.goals = 2",
        ["SELECT p.id FROM player p WHERE {c} UNION ALL SELECT p.id FROM player p WHERE p.goals = 2 OR {c}"],
    ),
    "except": (
        "SELECT p.id FROM player p WHERE {c} EXCEPT SELECT player_id FROM part",
        "SELECT p.id FROM player p WHERE {c} AND p.id NOT IN (SELECT player_id FROM part)",
        ["SELECT p.team_id FROM player p WHERE {c} EXCEPT SELECT player_id FROM part"],
    ),
    "merge_grouped_among": (
        COUNTED,
        f"{JOINED} GROUP BY t.id HAVING COUNT(*) > 1",
        [f"{JOINED} GROUP BY t.name HAVING COUNT(*) > 1"],
    ),
    "count_distinct_rows": (
        "SELECT COUNT(*) FROM (SELECT DISTINCT p.team_id FROM player p WHERE {c}) AS d",
        "SELECT COUNT(DISTINCT p.team_id) FROM player p WHERE {c}",
        ["SELECT COUNT(*) FROM (SELECT DISTINCT p.mentor_id FROM player p WHERE {c}) AS d"],
    ),
    "greatest_is_not_the_first": (
        "SELECT MAX(p.age) FROM player p WHERE {c}",
        "SELECT MAX(p.age) FROM player p WHERE {c} LIMIT 1",
        ["SELECT p.age FROM player p WHERE {c} ORDER BY p.age DESC LIMIT 1"],
    ),
    "extremes_to_where": (
        "SELECT p.team_id, MAX(p.age) FROM player p WHERE {c} GROUP BY p.team_id HAVING MAX(p.age) > 2",
        "SELECT p.team_id, MAX(p.age) FROM player p WHERE {c} AND p.age > 2 GROUP BY p.team_id",
        [
            "SELECT p.team_id, MAX(p.age) FROM player p WHERE {c} GROUP BY p.team_id HAVING MIN(p.age) > 2",
            "SELECT p.team_id, MAX(p.age) FROM player p WHERE {c} GROUP BY p.team_id HAVING MAX(p.goals) > 2",
        ],
    ),
    "count_of_present": (
        "SELECT COUNT(p.mentor_id) FROM player p WHERE {c}",
        "SELECT COUNT(*) FROM player p WHERE {c} AND p.mentor_id IS NOT NULL",
        ["SELECT COUNT(*) FROM player p WHERE {c}", "SELECT COUNT(DISTINCT p.mentor_id) FROM player p WHERE {c}"],
    ),
    "merge_regrouped": (
        f"SELECT team_id, SUM(n), MAX(m) FROM {INNER} GROUP BY team_id",
        "SELECT p.team_id, COUNT(*), MAX(p.age) FROM player p WHERE {c} GROUP BY p.team_id",
        [
            f"SELECT team_id, COUNT(n), MAX(m) FROM {INNER} GROUP BY team_id",
            f"SELECT team_id, SUM(n), MIN(m) FROM {INNER} GROUP BY team_id",
            f"SELECT team_id, SUM(n), MAX(m) FROM {INNER} WHERE n > 1 GROUP BY team_id",
        ],
    ),
    "sum_of_no_counts_is_null": (
        "SELECT SUM(s) FROM (SELECT SUM(p.goals) AS s FROM player p WHERE {c} GROUP BY p.team_id) AS d",
        "SELECT SUM(p.goals) FROM player p WHERE {c}",
        ["SELECT SUM(s) FROM (SELECT DISTINCT p.goals AS s FROM player p WHERE {c}) AS d"],
    ),
    "existence_of_own_row": (
        "SELECT p.id FROM player p WHERE {c} AND p.id NOT IN (SELECT q.id FROM player q WHERE q.mentor_id > 2)",
        "SELECT p.id FROM player p WHERE {c} AND (p.mentor_id <= 2 OR p.mentor_id IS NULL)",
        [
            "SELECT p.id FROM player p WHERE {c} AND p.mentor_id <= 2",
            "SELECT p.id FROM player p WHERE {c} AND team_id NOT IN (SELECT team_id FROM player WHERE mentor_id > 2)",
        ],
    ),
    "counts_as_existence": (
        "SELECT p.id FROM player p WHERE {c} AND (SELECT COUNT(*) FROM part x WHERE x.player_id = p.id) = 0",
        "SELECT p.id FROM player p WHERE {c} AND NOT EXISTS (SELECT 1 FROM part x WHERE x.player_id = p.id)",
        ["SELECT p.id FROM player p WHERE {c} AND (SELECT COUNT(x.minutes) FROM part x WHERE x.player_id = p.id) = 0"],
    ),
    "union_all_of_disjoint_parts": (
        "SELECT age FROM player p WHERE {c} AND goals > 2 UNION ALL SELECT age FROM player p WHERE {c} AND goals < 2",
        "SELECT p.age FROM player p WHERE {c} AND (p.goals > 2 OR p.goals < 2)",
        [
            "SELECT p.age FROM player p WHERE {c} AND p.goals > 2 UNION ALL SELECT age FROM player p WHERE {c}",
            "SELECT age FROM player p WHERE {c} AND goals > 2 UNION SELECT age FROM player p WHERE {c} AND goals < 2",
        ],
    ),
    "scalar_to_left": (
        "SELECT p.id, (SELECT t.city FROM team t WHERE t.id = p.mentor_id) FROM player p WHERE {c}",
        "SELECT p.id, t.city FROM player p LEFT JOIN team t ON t.id = p.mentor_id WHERE {c}",
        [
            "SELECT p.id, t.city FROM player p JOIN team t ON t.id = p.mentor_id WHERE {c}",
            "SELECT p.id, t.city FROM player p LEFT JOIN team t ON t.budget = p.mentor_id WHERE {c}",
        ],
    ),
    "left_groups_to_scalars": (
        ("SELECT p.id, COUNT(x.game_id), SUM(x.minutes) FROM player p LEFT JOIN part x ON x.player_id = p.id "
        "WHERE {c} GROUP BY p.id"),
        ("SELECT p.id, (SELECT COUNT(*) FROM part x WHERE x.player_id = p.id), "
        "(SELECT SUM(minutes) FROM part x WHERE x.player_id = p.id) FROM player p WHERE {c}"),
        [
            ("SELECT p.id, COUNT(*), SUM(x.minutes) FROM player p LEFT JOIN part x ON x.player_id = p.id "
            "WHERE {c} GROUP BY p.id"),
            ("SELECT p.id, COUNT(x.game_id), SUM(x.minutes) FROM player p JOIN part x ON x.player_id = p.id "
            "WHERE {c} GROUP BY p.id"),
        ],
    ),
    "grouped_left_to_scalar": (
        ("SELECT p.id, q.m FROM player p LEFT JOIN (SELECT player_id, MAX(minutes) AS m FROM part GROUP BY player_id) q"
        " ON q.player_id = p.id WHERE {c}"),
        "SELECT p.id, (SELECT MAX(minutes) FROM part x WHERE x.player_id = p.id) FROM player p WHERE {c}",
        [
            ("SELECT p.id, q.m FROM player p LEFT JOIN (SELECT player_id, MAX(minutes) AS m FROM part "
            "GROUP BY player_id HAVING COUNT(*) > 1) q ON q.player_id = p.id WHERE {c}"),
            ("SELECT p.id, q.m FROM player p LEFT JOIN (SELECT player_id, COUNT(minutes) AS m FROM part "
            "GROUP BY player_id) q ON q.player_id = p.id WHERE {c}"),
        ],
    ),
    "distinct_to_existence": (
        "SELECT p.id FROM player p JOIN (SELECT DISTINCT crowd FROM game WHERE season > 1) ON crowd = p.age WHERE {c}",
        "SELECT p.id FROM player p WHERE {c} AND p.age IN (SELECT crowd FROM game WHERE season > 1)",
        [
            ("SELECT p.id FROM player p JOIN (SELECT DISTINCT crowd, season FROM game WHERE season > 1) q "
            "ON q.crowd = p.age WHERE {c}"),
            "SELECT p.id FROM player p JOIN (SELECT crowd FROM game WHERE season > 1) q ON q.crowd = p.age WHERE {c}",
        ],
    ),
    "full_to_left": (
        "SELECT p.id, g.id FROM player p FULL JOIN game g ON g.crowd = p.age WHERE p.goals >= 0 AND {c}",
        "SELECT p.id, g.id FROM player p LEFT JOIN game g ON g.crowd = p.age WHERE p.goals >= 0 AND {c}",
        ["SELECT p.id, g.id FROM player p JOIN game g ON g.crowd = p.age WHERE p.goals >= 0 AND {c}"],
    ),
    "case_as_coalesce": (
        "SELECT CASE WHEN p.age IS NULL THEN p.goals ELSE p.age END FROM player p WHERE {c}",
        "SELECT COALESCE(p.age, p.goals) FROM player p WHERE {c}",
        ["SELECT CASE WHEN p.age > p.goals THEN p.age ELSE p.goals END FROM player p WHERE {c}"],
    ),
}  # fmt: skip


def condition(draw: random.Random) -> str:
    """A random condition on player p, with no NULL hidden in it that a rule would have to see."""
    column, value = draw.choice(["p.age", "p.goals", "p.id", "p.team_id"]), draw.randrange(1, 4)
    return draw.choice([
        f"{column} > {value}",
        f"{column} <> {value}",
        f"({column} = {value} OR p.goals < {value})",
        f"{column} BETWEEN {value} AND {value + 1}",
        f"p.age IS NOT NULL AND {column} <= {value}",
        f"{column} IN (SELECT g.crowd FROM game g WHERE g.season > {value})",
    ])  # fmt: skip


@each("name", RULES)
def test_a_rule_proves_what_it_makes_and_no_near_miss(name: str) -> None:
    one, other, misses = RULES[name]
    draw = random.Random(name)
    for _ in range(4):
        chosen = condition(draw)
        pair = one.format(c=chosen), other.format(c=chosen)
        assert isinstance(prove(*pair, SQLITE, dialect="sqlite", ordered=False), Proof), pair
        assert next(differences("sqlite", SCHEMA, *pair, SQLITE, range(25)), None) is None
        for miss in misses:
            for query in pair:
                found = prove(query, miss.format(c=chosen), SQLITE, dialect="sqlite", ordered=False)
                assert not isinstance(found, Proof), (query, miss.format(c=chosen))


@each("name", RULES)
def test_a_near_miss_differs_on_some_small_database(name: str) -> None:
    one, _, misses = RULES[name]
    always = "p.goals >= 0"
    for miss in misses:
        pair = one.format(c=always), miss.format(c=always)
        assert next(differences("sqlite", SCHEMA, *pair, SQLITE, range(400)), None) is not None, pair
