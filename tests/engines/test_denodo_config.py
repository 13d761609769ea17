"""Where the Data Catalog is: a file, the environment, flags, and which of them counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.engines.denodo.config import DenodoConfig, from_environment, merge, read_project_config
from assay.engines.denodo.url import read_endpoint
from assay.errors import InputError
from assay.model import Secret

BASE = "http://host:9090/denodo-data-catalog"
EXECUTE = f"{BASE}/public/api/askaquestion/execute"


def write(folder: Path, text: str) -> Path:
    path = folder / "project_config.env"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_guides_file_is_read(tmp_path: Path) -> None:
    text = (
        "DATA_CATALOG_URL=http://your-denodo-server:9090/denodo-data-catalog\n"
        "DATA_CATALOG_EXECUTION_URL="
        "http://your-denodo-server:9090/denodo-data-catalog/public/api/askaquestion/execute\n"
        "DATA_CATALOG_SERVER_ID=1\n"
        "DATA_CATALOG_VERIFY_SSL=0\n"
    )
    url = read_project_config(write(tmp_path, text)).database_url()
    assert str(url) == "denodo+http://your-denodo-server:9090/denodo-data-catalog?serverId=1&verify=0"


def test_comments_quotes_export_spaces_and_other_settings_are_understood(tmp_path: Path) -> None:
    text = (
        "\ufeff# the test server\r\n\r\n"
        f"export DATA_CATALOG_URL = '{BASE}/' # ours\r\n"
        'DATA_CATALOG_SERVER_ID="3"\r\n'
        "DATA_CATALOG_VERIFY_SSL = true   # yes\r\n"
        "DATA_CATALOG_EXECUTION_URL=\r\n"
        "LLM_PROVIDER=someone's #1 'choice\r\n"
    )
    assert read_project_config(write(tmp_path, text)) == DenodoConfig(url=BASE, server_id=3, verify_ssl=True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("DATA_CATALOG_SERVER_ID=one", "'one'"),
        ("DATA_CATALOG_SERVER_ID=-1", "'-1'"),
        ("DATA_CATALOG_VERIFY_SSL=perhaps", "'perhaps'"),
        ("DATA_CATALOG_URL=host:9090/x", "'host:9090/x'"),
        ("DATA_CATALOG_URL=http://host:port/x", "write an address"),
        ("DATA_CATALOG_URL='http://host", "quote"),
        ("just words", "write NAME=value"),
    ],
)
def test_a_wrong_value_names_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, f"# one\n\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_project_config(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert says in str(caught.value)


def test_credentials_in_an_address_are_refused_unseen(tmp_path: Path) -> None:
    path = write(tmp_path, "DATA_CATALOG_URL=http://ada:hidden@host/x\n")
    with pytest.raises(InputError, match="holds credentials") as caught:
        read_project_config(path)
    assert "hidden" not in str(caught.value)


def test_a_file_that_is_absent_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.env: .*No such file"):
        read_project_config(tmp_path / "absent.env")


def test_a_wrong_value_in_the_environment_names_the_variable() -> None:
    with pytest.raises(InputError, match="DATA_CATALOG_SERVER_ID is 'x'"):
        from_environment({"DATA_CATALOG_SERVER_ID": "x"})


def test_flags_count_before_the_environment_and_that_before_the_file() -> None:
    file = DenodoConfig(url=BASE, server_id=1, verify_ssl=False)
    environment = from_environment({"DATA_CATALOG_SERVER_ID": "2", "DATA_CATALOG_VERIFY_SSL": "1", "HOME": "/x"})
    merged = merge(file=file, environment=environment, flags=DenodoConfig(server_id=3))
    assert merged == DenodoConfig(url=BASE, server_id=3, verify_ssl=True)


def test_another_server_does_not_keep_the_first_ones_execution_url() -> None:
    file = DenodoConfig(url=BASE, execution_url="http://host:9090/special")
    flags = DenodoConfig(url="http://other/denodo-data-catalog")
    url = merge(file=file, environment=DenodoConfig(), flags=flags).database_url()
    assert str(url) == "denodo+http://other/denodo-data-catalog"


@pytest.mark.parametrize(
    ("config", "executes_at"),
    [
        (DenodoConfig(url=BASE), EXECUTE),
        (DenodoConfig(execution_url=EXECUTE), EXECUTE),
        (DenodoConfig(url=BASE, execution_url=EXECUTE), EXECUTE),
        (DenodoConfig(execution_url="http://host:9090/special/run"), "http://host:9090/special/run"),
        (DenodoConfig(url=BASE, execution_url="https://else:1/run"), "https://else:1/run"),
    ],
)
def test_the_url_executes_where_the_settings_say(config: DenodoConfig, executes_at: str) -> None:
    assert read_endpoint(config.database_url()).execution_url == executes_at


def test_credentials_come_through_whole_and_masked() -> None:
    password = Secret("p@ss/w:rd%41 é")
    url = DenodoConfig(url=BASE, server_id=4).database_url(user="a@b:c", password=password)
    endpoint = read_endpoint(url)
    assert (endpoint.user, endpoint.password, endpoint.token, endpoint.server_id) == ("a@b:c", password, None, 4)
    assert str(url) == "denodo+http://a%40b%3Ac:***@host:9090/denodo-data-catalog?serverId=4"
    bearer = DenodoConfig(url=BASE).database_url(token=Secret("to/k@n"))
    assert read_endpoint(bearer).token == Secret("to/k@n")
    assert "to" not in str(bearer).split("//", 1)[1].split("@", 1)[0]


def test_what_does_not_go_together_is_refused() -> None:
    config = DenodoConfig(url=BASE)
    with pytest.raises(InputError, match="not both"):
        config.database_url(user="a", token=Secret("t"))
    with pytest.raises(InputError, match="without its user"):
        config.database_url(password=Secret("p"))
    with pytest.raises(InputError, match="DATA_CATALOG_URL"):
        DenodoConfig().database_url()
