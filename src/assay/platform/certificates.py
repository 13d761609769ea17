"""Read the trusted certificate authorities of HTTPS once per process: each reading takes as long as many a request."""

from __future__ import annotations

import os
import ssl
from functools import cache

_READ = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The environment variables that name other authorities."""


def tls_context(*, verify: bool = True, trust_env: bool = True) -> ssl.SSLContext:
    """What httpx would make for these settings. Clients share it, in any number of threads."""
    return _context(verify, tuple(os.environ.get(name, "") for name in _READ) if trust_env else ("", ""))


@cache
def _context(verify: bool, named: tuple[str, ...]) -> ssl.SSLContext:  # noqa: FBT001
    import httpx

    return httpx.create_ssl_context(verify, trust_env=any(named))
