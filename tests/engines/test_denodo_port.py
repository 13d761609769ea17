"""The file of settings of Denodo's database port, as users of older releases have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.engines.denodo.port import read_database_port
from assay.errors import InputError
from many_cases import each

GIVEN = {"user": "u", "password": "hidden-one", "host": "h", "port": 9996, "databaseName": "bank"}


def write(folder: Path, **changed: object) -> Path:
    path = folder / "db.json"
    path.write_text(json.dumps({**GIVEN, **changed}), encoding="utf-8")
    return path


@pytest.mark.parametrize("port", [9996, "9996", "09996"])
def test_a_port_is_a_number_or_the_text_of_one(tmp_path: Path, port: object) -> None:
    found = read_database_port(write(tmp_path, port=port))
    url = found.database_url(user=found.user, password=found.password)
    assert url == "denodo+psycopg2://u:hidden-one@h:9996/bank"


@each("port", ["x", "", "-1", "9996.0", "²", "9" * 5000, 0, -1, 65536, "65536", 9996.5, True, [9996]])
def test_what_is_no_port_is_told_without_the_password(tmp_path: Path, port: object) -> None:
    with pytest.raises(InputError, match=r"db\.json: port is") as raised:
        read_database_port(write(tmp_path, port=port))
    assert "hidden" not in str(raised.value)


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read: No such file or directory; did you mean .*db\.json\?$"):
        read_database_port(tmp_path / "dbb.json")
