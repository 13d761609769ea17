"""The trusted authorities of HTTPS are read once per process and setting, whatever asks for them."""

from __future__ import annotations

import ast
import re
import ssl
from pathlib import Path

import certifi
import pytest

from assay.platform.certificates import tls_context
from many_cases import each

SOURCE = Path(__file__).resolve().parents[1] / "src" / "assay"


def test_nothing_is_read_twice_if_the_environment_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", "")
    assert tls_context() is tls_context(trust_env=False)


@each("trust_env", [True, False])
@each("verify", [True, False])
def test_clients_with_the_same_settings_share_what_was_read(verify: bool, trust_env: bool) -> None:
    context = tls_context(verify=verify, trust_env=trust_env)
    assert tls_context(verify=verify, trust_env=trust_env) is context
    assert context.verify_mode == (ssl.CERT_REQUIRED if verify else ssl.CERT_NONE)
    assert context.check_hostname == verify
    assert bool(context.cert_store_stats()["x509_ca"]) == verify


def test_other_authorities_are_read_when_the_environment_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = re.search(r"-----BEGIN.*?-----END CERTIFICATE-----\n", Path(certifi.where()).read_text(), re.S)
    assert first is not None
    (tmp_path / "one.pem").write_text(first[0])
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
    assert tls_context().cert_store_stats()["x509"] == 1
    assert tls_context(trust_env=False).cert_store_stats()["x509"] > 1
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert tls_context().cert_store_stats()["x509"] > 1


def test_every_client_shares_them() -> None:
    calls = [
        ast.unparse(node)
        for path in SOURCE.rglob("*.py")
        if "httpx." in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("httpx.Client", "httpx.AsyncClient")
    ]
    assert calls
    assert not [call for call in calls if "verify=tls_context(" not in call]
