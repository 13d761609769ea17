"""MLflow: a finished run as an MLflow run, with every rate and its interval, the settings and the HTML report.

    python examples/mlflow_export.py                       # the bundled sample, into mlflow.db of this folder
    python examples/mlflow_export.py RUN http://host:5000  # a run of yours, on your tracking server

Needs MLflow:  python -m pip install '.[mlflow]'. The same for a folder of runs:  assay runs FOLDER --mlflow URI
"""

import sys
from pathlib import Path

import assay
from assay import demo

if len(sys.argv) > 1:
    run = assay.load_run(sys.argv[1])
else:
    run = assay.evaluate(
        demo.cases_path(),
        demo.predictions_path(),
        databases=f"sqlite:///{demo.build_database(Path('mlflow-example'))}",
        limits=assay.Limits(timeout_s=1.0),  # two of its answers never end
        metrics=["match", "bird_ex"],
        tags=["model=sample"],
    )
store = sys.argv[2] if len(sys.argv) > 2 else "sqlite:///mlflow.db"

exported = assay.export_mlflow(run, tracking_uri=store, experiment="assay-example")
again = assay.export_mlflow(run, tracking_uri=store, experiment="assay-example")
print(f"{'wrote' if exported.created else 'found'} the MLflow run {exported.run_id}")
print(f"exported again it is {'the same' if again.run_id == exported.run_id else 'another'} one")
