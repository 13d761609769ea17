"""A Denodo server to try on and to test against: both of its HTTP APIs on loopback, with faults on demand.

    with DenodoEmulator(answers={"How many?": "SELECT COUNT(*) FROM client"}, tables=folder) as server:
        ...  # ask server.api_url, run VQL at server.catalog_url

`python -m assay.testing` starts one with the bundled example and says what to try on it.
"""

from assay.testing.emulator import Call, DenodoEmulator
from assay.testing.faults import Fault, FaultKind

__all__ = ["Call", "DenodoEmulator", "Fault", "FaultKind"]
