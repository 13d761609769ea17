"""Systems behind HTTP: requests, retries, and what refusals mean."""

from assay.systems.http.system import HttpsSystem as HttpsSystem
from assay.systems.http.system import HttpSystem as HttpSystem
