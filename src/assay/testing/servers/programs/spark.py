"""spark.py PORT FOLDER: Spark with two threads, serving Spark Connect on loopback."""

import os
import sys
import threading


def main(port: str, folder: str) -> None:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.chdir(folder)
    from pyspark.sql import SparkSession

    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        # Small queries end before better compiled code pays: half the processor time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[2]").appName("assay")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
