#!/usr/bin/env bash
# Denodo: an Excel question set through a live AI SDK. Both queries of each question run on the Data Catalog, the right
# answers are timed (VES), and the result is the workbook with Summary, Details and charts, and a run to look into.
#
# Without a Denodo, start the emulator first, in another terminal; it also writes sample_input.xlsx:
#     python -m assay.testing --port 8008
#     bash examples/denodo.sh
# With your own: set the variables below. A password is in the environment, not in a flag that others see.
set -euo pipefail

: "${QUESTIONS:=sample_input.xlsx}"
: "${API_URL:=http://127.0.0.1:8008/answerDataQuestion}"
: "${DATA_CATALOG_URL:=http://127.0.0.1:8008/denodo-data-catalog}"
: "${ASSAY_USER:=demo}"
: "${ASSAY_PASSWORD:=demo-password}"
export DATA_CATALOG_URL ASSAY_USER ASSAY_PASSWORD

# Interrupted, the same line goes on; no question is asked twice.
assay denodo --input "$QUESTIONS" --output evaluation_results.xlsx --api-url "$API_URL" --html evaluation_results.html "$@"

# The run is kept beside the workbook: draw it again in any format, without a server.
assay report evaluation_results.run --md evaluation_results.md
