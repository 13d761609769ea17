"""bigquery.py REST_PORT GRPC_PORT: bqemulator without geography, whose extension of DuckDB needs the network.

It has the project ``test`` with an empty dataset ``test``.
"""

import json
import sys
import threading
import time
import urllib.request

from bqemulator.storage import engine


def make_dataset(port: str) -> None:
    """Make the dataset as soon as the emulator answers."""
    body = {"datasetReference": {"projectId": "test", "datasetId": "test"}}
    address = f"http://127.0.0.1:{port}/bigquery/v2/projects/test/datasets"
    while True:
        headers = {"Content-Type": "application/json"}
        try:
            urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers), timeout=5)
            return
        except OSError:
            time.sleep(0.1)


if __name__ == "__main__":
    engine.DuckDBEngine._load_spatial = lambda *_: None
    rest, grpc = sys.argv[1:3]
    threading.Thread(target=make_dataset, args=(rest,), daemon=True).start()
    sys.argv = ["bqemulator", "start", "--rest-port", rest, "--grpc-port", grpc]
    from bqemulator.cli import main

    main()
