"""CREATE TABLE as MySQL writes it serves as a schema: its tables are made in SQLite from what was read of them."""

from __future__ import annotations

import assay
from many_cases import each

TABLES = {
    "an enumeration": "CREATE TABLE t (id INT PRIMARY KEY, s ENUM('a', 'b') NOT NULL)",
    "a dump": """CREATE TABLE `t` (`id` int(11) NOT NULL AUTO_INCREMENT, `s` enum('a','b') NOT NULL,
        PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8;""",
    "keys and character sets": """CREATE TABLE `t` (`id` int unsigned NOT NULL AUTO_INCREMENT,
        `s` varchar(1) CHARACTER SET utf8 NOT NULL CHECK (`s` IN ('a', 'b')), PRIMARY KEY (`id`), KEY `k` (`s`)
        ) ENGINE=InnoDB COMMENT='x'""",
    "columns of other types": "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, s ENUM('a','b') NOT NULL, o SET('x'))",
}


@each("name", TABLES)
def test_the_tables_are_made_and_their_constraints_kept(name: str) -> None:
    """A difference is found, and none that an enumeration rules out."""
    differ = assay.refute("SELECT s FROM t", "SELECT DISTINCT s FROM t", schema=TABLES[name], seconds=0.2)
    assert differ.kind == "refuted", differ.reason
    same = assay.refute(
        "SELECT id FROM t WHERE s <> 'a'", "SELECT id FROM t WHERE s = 'b'", schema=TABLES[name], seconds=0.1
    )
    assert same.kind in ("unknown", "proved", "bounded"), same.reason
    assert same.why in (None, "no_difference", "out_of_time"), same.reason
