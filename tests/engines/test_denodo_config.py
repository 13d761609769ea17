"""Where the Data Catalog is: a file, the environment, flags, and which of them counts."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.engines.denodo.config import DenodoConfig, from_environment, merge, read_project_config
from assay.engines.denodo.engine import DenodoHttpEngine
from assay.engines.denodo.url import read_endpoint
from assay.errors import InputError
from assay.model import Limits, Secret
from many_cases import each
from text_server import serving

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


@each(
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
    with pytest.raises(InputError, match="contains credentials") as caught:
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


@each(
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
    with pytest.raises(InputError, match="has no user"):
        config.database_url(password=Secret("p"))
    with pytest.raises(InputError, match="DATA_CATALOG_URL"):
        DenodoConfig().database_url()


VALUES = {"URL": BASE, "EXECUTION_URL": "http://host:9090/special", "SERVER_ID": "4", "VERIFY_SSL": "0"}
EXPECTED = DenodoConfig(url=BASE, execution_url="http://host:9090/special", server_id=4, verify_ssl=False)


@each("prefix", ["DATA_CATALOG_", "DATA_MARKETPLACE_"])
@each("order", [1, -1])
def test_either_name_says_the_same(tmp_path: Path, prefix: str, order: int) -> None:
    settings = {prefix + name: value for name, value in VALUES.items()}
    text = "".join(f"{name}={value}\n" for name, value in list(settings.items())[::order])
    assert read_project_config(write(tmp_path, text)) == EXPECTED == from_environment(settings)


@pytest.mark.parametrize("order", [1, -1])
def test_the_newer_name_weighs_more_and_says_so_where_they_differ(tmp_path: Path, order: int) -> None:
    lines = ["DATA_CATALOG_SERVER_ID=1", "DATA_MARKETPLACE_SERVER_ID=2", f"DATA_CATALOG_URL={BASE}"][::order]
    path = write(tmp_path, "\n".join(lines))
    with pytest.warns(
        UserWarning, match="DATA_MARKETPLACE_SERVER_ID is used, although DATA_CATALOG_SERVER_ID has another value"
    ):
        assert read_project_config(path) == DenodoConfig(url=BASE, server_id=2)


def test_both_names_may_say_the_same(tmp_path: Path) -> None:
    text = f"DATA_CATALOG_URL={BASE}\nDATA_MARKETPLACE_URL={BASE}/\n"
    assert read_project_config(write(tmp_path, text)) == DenodoConfig(url=BASE)


def test_the_execution_url_of_the_older_name_goes_with_its_server(tmp_path: Path) -> None:
    text = f"DATA_CATALOG_URL={BASE}\nDATA_CATALOG_EXECUTION_URL={EXECUTE}\nDATA_MARKETPLACE_URL=http://new/m\n"
    with pytest.warns(UserWarning, match="DATA_MARKETPLACE_URL is used"):
        found = read_project_config(write(tmp_path, text))
    assert read_endpoint(found.database_url()).execution_url == "http://new:9090/m/public/api/askaquestion/execute"


@each(
    ("written", "meant"),
    [
        ("DATA_CATALOG_ULR", "DATA_CATALOG_URL"),
        ("data_catalog_url", "DATA_CATALOG_URL"),
        ("DATA_CATALOG_VERIFY_SLL", "DATA_CATALOG_VERIFY_SSL"),
        ("DATA_MARKETPLACE_SERVERID", "DATA_MARKETPLACE_SERVER_ID"),
        ("DATA_CATALOG_EXECUTION_UR", "DATA_CATALOG_EXECUTION_URL"),
        ("DATA_MARKTPLACE_URL", "DATA_MARKETPLACE_URL"),
        ("DATA_MARKETPACE_VERIFY_SSL", "DATA_MARKETPLACE_VERIFY_SSL"),
        ("DATACATALOG_URL", "DATA_CATALOG_URL"),
        ("DATA_CATALOGUE_URL", "DATA_CATALOG_URL"),
        ("DATA_CATLOG_SERVER_ID", "DATA_CATALOG_SERVER_ID"),
    ],
)
def test_a_misspelt_setting_is_named_and_others_settings_are_not(tmp_path: Path, written: str, meant: str) -> None:
    text = f"DATA_CATALOG_USER=a\nDATA_CATALOG_SERVICE_HOST=b\nDATA_CATALOG_PORT=1\nOPENAI_KEY=secret\n{written}=1\n"
    with pytest.warns(UserWarning, match=f"line 5: {written} is ignored: did you mean {meant}") as caught:
        assert read_project_config(write(tmp_path, text)) == DenodoConfig()
    assert len(caught) == 1


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, f"DATA_CATALOG_URL={BASE}\n")
    with pytest.raises(InputError, match=r"No such file or directory; did you mean .*project_config\.env\?$"):
        read_project_config(tmp_path / "project-config.env")
    with pytest.raises(InputError, match=r"No such file or directory$"):
        read_project_config(tmp_path / "zzz")


def test_other_settings_of_the_file_and_the_environment_may_be_named_in_a_value(tmp_path: Path) -> None:
    text = (
        "HOST='http://host'\nBASE=\"${HOST}:9090/denodo-data-catalog\"\n"
        "DATA_CATALOG_URL=${HOST}:${PORT:-9090}/denodo-data-catalog\n"
        "DATA_CATALOG_EXECUTION_URL=${DATA_CATALOG_URL}/public/api/askaquestion/execute\n"
        "DATA_CATALOG_SERVER_ID=${ID}\n"
    )
    path = write(tmp_path, text)
    assert read_project_config(path, {"ID": "6"}) == DenodoConfig(url=BASE, execution_url=EXECUTE, server_id=6)
    with pytest.raises(InputError, match=r"line 5: ID is set neither"):
        read_project_config(path)


@each("rows", ["0", "-1", "many", "", "1e3", "9999999999"])
def test_how_many_rows_to_ask_for_is_a_number_from_1_up(rows: str) -> None:
    from assay.errors import DatabaseError
    from assay.model import DatabaseUrl

    with pytest.raises(DatabaseError, match="rows is"):
        read_endpoint(DatabaseUrl.parse(f"denodo+http://host/x?rows={rows}"))
    assert read_endpoint(DatabaseUrl.parse("denodo+http://host/x?rows=100")).rows == 100


@each("prefix", ["DATA_CATALOG_", "DATA_MARKETPLACE_", "AI_SDK_DATA_MARKETPLACE_"])
@each(
    ("given", "url"),
    [
        ({"HOST": "denodo"}, "http://denodo:9090/denodo-data-catalog"),
        ({"HOST": "denodo", "PORT": "19090"}, "http://denodo:19090/denodo-data-catalog"),
        ({"HOST": "denodo", "PORT": "9443"}, "https://denodo:9443/denodo-data-catalog"),
        ({"HOST": "10.0.0.1", "PORT": ""}, "http://10.0.0.1:9090/denodo-data-catalog"),
        ({"HOST": "::1"}, "http://[::1]:9090/denodo-data-catalog"),
        ({"HOST": "https://denodo/catalog"}, "https://denodo/catalog"),
        ({"HOST": "https://denodo/catalog", "PORT": "1"}, "https://denodo:1/catalog"),
        ({"HOST": "other", "PORT": "1", "URL": "http://denodo:9090/c"}, "http://denodo:9090/c"),
        ({"HOST": ""}, None),
        ({"PORT": "tcp://10.0.0.1:9090"}, None),
    ],
)
def test_host_and_port_name_a_catalog_without_a_url(prefix: str, given: dict[str, str], url: str | None) -> None:
    assert from_environment({prefix + name: value for name, value in given.items()}).url == url


@each("port", ["x", "0", "65536", "-1", "tcp://10.0.0.1:9090", "1" * 50])
def test_a_port_beside_a_host_must_be_one(port: str) -> None:
    with pytest.raises(InputError, match="DATA_CATALOG_PORT is"):
        from_environment({"DATA_CATALOG_HOST": "denodo", "DATA_CATALOG_PORT": port})


def test_the_newest_name_takes_precedence_among_all_of_them() -> None:
    names = ("DATA_CATALOG_HOST", "DATA_CATALOG_URL", "DATA_MARKETPLACE_URL", "AI_SDK_DATA_MARKETPLACE_URL")
    environ: dict[str, str] = {}
    for number, name in enumerate(names):
        environ[name] = f"http://host{number}/c"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert from_environment(environ).url == f"http://host{number}/c"
    environ = {name: environ[name] for name in names[2:]}
    with pytest.warns(
        UserWarning, match="AI_SDK_DATA_MARKETPLACE_URL is used, although DATA_MARKETPLACE_URL has another value"
    ):
        from_environment(environ)


@each(
    ("host", "port", "url"),
    [
        ("http://denodo", "18180", "http://denodo:18180/denodo-data-catalog"),
        ("https://denodo", "9443", "https://denodo:9443/denodo-data-catalog"),
        ("http://denodo/", "18180", "http://denodo:18180/denodo-data-catalog"),
        ("http://denodo/catalog", "18180", "http://denodo:18180/catalog"),
        ("http://denodo:9090", "", "http://denodo:9090/denodo-data-catalog"),
        ("http://denodo:18180/catalog", "18180", "http://denodo:18180/catalog"),
        ("http://[::1]", "18180", "http://[::1]:18180/denodo-data-catalog"),
        ("https://denodo/catalog", "", "https://denodo/catalog"),
    ],
)
def test_an_address_in_place_of_a_host_gets_the_port_and_the_path_that_it_lacks(host: str, port: str, url: str) -> None:
    given = {"DATA_CATALOG_HOST": host} | ({"DATA_CATALOG_PORT": port} if port else {})
    assert from_environment(given).url == url


def test_a_port_that_is_not_used_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="DATA_CATALOG_PORT is not used, since DATA_CATALOG_HOST has another port"):
        config = from_environment({"DATA_CATALOG_HOST": "http://denodo:9090", "DATA_CATALOG_PORT": "18180"})
    assert config.url == "http://denodo:9090/denodo-data-catalog"


def test_a_host_that_counts_beside_an_empty_url_is_named() -> None:
    older = {"DATA_CATALOG_URL": "", "DATA_CATALOG_HOST": "a"}
    with pytest.warns(UserWarning, match="DATA_MARKETPLACE_URL is used, although DATA_CATALOG_HOST has another value"):
        assert from_environment({**older, "DATA_MARKETPLACE_URL": BASE}).url == BASE


def test_an_execution_url_is_kept_beside_a_newer_name_of_the_url() -> None:
    execution = {"DATA_CATALOG_EXECUTION_URL": "http://a/run"}
    newer = {"AI_SDK_DATA_MARKETPLACE_URL": "http://b"}
    assert from_environment({**execution, **newer}) == DenodoConfig(url="http://b", execution_url="http://a/run")
    with pytest.warns(UserWarning, match="AI_SDK_DATA_MARKETPLACE_URL is used"):
        config = from_environment({**execution, "DATA_CATALOG_URL": "http://a", **newer})
    assert config == DenodoConfig(url="http://b")


@pytest.mark.parametrize(
    "url", ["http://denodo?token=abc-secret", "http://me:pa?ss@denodo", "http://denodo#abc-secret"]
)
def test_the_message_about_an_unusable_address_shows_no_part_that_may_be_secret(url: str) -> None:
    with pytest.raises(InputError, match="DATA_CATALOG_URL") as caught:
        from_environment({"DATA_CATALOG_URL": url})
    assert "secret" not in str(caught.value)
    assert "ss@" not in str(caught.value)


def test_a_column_name_that_repeats_a_secret_is_masked() -> None:
    names = ["name", "S3cret-Pass", "u:S3cret-Pass", "gw-key-98765", "S3cret%2DPass gw-key-98765"]
    row = {"values": [{"column": f"{number} {name}", "value": name} for number, name in enumerate(names)]}
    config = DenodoConfig(server_id=1)
    with serving(json.dumps({"rows": [row]})) as url:
        address = replace(config, url=f"{url}/denodo-data-catalog").database_url(
            user="u", password=Secret("S3cret-Pass"), headers=[("X-Gw", Secret("gw-key-98765"))]
        )
        engine = DenodoHttpEngine.open(address, Limits())
        execution = engine.execute("SELECT a FROM t")
        engine.close()
    shown = " ".join(execution.columns or ())
    assert shown.startswith("0 name 1 ***")
    assert "S3cret-Pass" not in shown
    assert "gw-key" not in shown
    assert execution.result.rows[0][1] == "S3cret-Pass"
