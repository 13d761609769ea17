"""bigquery.py REST_PORT GRPC_PORT: bqemulator without geography, whose extension of DuckDB needs the network."""

import sys

from bqemulator.storage import engine

if __name__ == "__main__":
    engine.DuckDBEngine._load_spatial = lambda *_: None
    sys.argv = ["bqemulator", "start", "--rest-port", sys.argv[1], "--grpc-port", sys.argv[2]]
    from bqemulator.cli import main

    main()
