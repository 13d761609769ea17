"""A sign in a password that ends the address of a service is found before anything is contacted, and not shown."""

from __future__ import annotations

import pytest

import assay.registry
from assay.cli.app import run_command_line
from assay.engines.denodo.config import DenodoConfig
from assay.errors import AssayError, InputError
from assay.model.databases.mistyped import web_fault_of
from assay.systems.address import http_address
from assay.systems.options import SystemOptions

CODES = {"@": "%40", "/": "%2F", "?": "%3F", "#": "%23", "[": "%5B", "]": "%5D", "%": "%25"}
SECRETS = [
    f"{before}{sign}{after}"
    for sign in CODES
    for before, after in (("pa", "wort"), ("", "wort"), ("12", "wort"), ("pa", ""))
]
ADDRESSES = [f"http://demo:{secret}@127.0.0.1:9/answerDataQuestion" for secret in SECRETS]


@pytest.mark.parametrize("scheme", ["http", "denodo", "chat"])
def test_a_sign_that_ends_a_password_is_named_with_its_code(scheme: str) -> None:
    for secret, address in zip(SECRETS, ADDRESSES, strict=True):
        with pytest.raises(InputError) as raised:
            http_address(f"{scheme}:{address}", scheme)
        said = str(raised.value)
        (sign,) = (one for one in CODES if one in secret)
        assert f"{CODES[sign]} for {sign}" in said, secret
        assert "http://USER:PASSWORD@127.0.0.1:9/answerDataQuestion" in said
        assert "wort" not in said
        assert "demo" not in said


@pytest.mark.parametrize(
    "address",
    [
        "http://host/x",
        "http://host:80/users/@me",
        "http://demo:word@host/x",
        "http://demo:w%40rd@host/x?q=a@b",
        "http://host?mail=a@b",
        "http://host:80/x?mail=ann@example.org",
        "https://[::1]:80/x@y",
        "http://demo@host:80/",
    ],
)
def test_an_at_sign_elsewhere_is_no_mistake(address: str) -> None:
    assert web_fault_of(address) is None


@pytest.mark.parametrize("option", ["--api-url", "--catalog-url", "--execution-url"])
def test_no_option_of_denodo_shows_or_contacts_a_mistyped_address(
    option: str, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    for address in ADDRESSES:
        command = ["denodo", "--input", "x.xlsx", "--output", f"{tmp_path}/o.xlsx", "--user", "u", "--password", "p"]
        other = [] if option == "--catalog-url" else ["--catalog-url", "http://127.0.0.1:9/denodo-data-catalog"]
        assert run_command_line([*command, *other, option, address]) == 2
        said = capsys.readouterr().err
        assert "wort" not in said
        assert "pa" not in said.replace("password", "").replace("separately", "").replace("PASSWORD", "")
        assert "no such file" not in said.lower()


def test_no_system_and_no_catalog_opens_with_a_mistyped_address() -> None:
    for address in ADDRESSES:
        for kind in ("http", "denodo"):
            with pytest.raises(AssayError, match="before the @ of its host"):
                assay.registry.open_system(f"{kind}:{address}", SystemOptions())
        with pytest.raises(InputError, match="contains credentials"):
            DenodoConfig.of_flags(url=address, execution_url=None, server_id=None, verify_ssl=None)
