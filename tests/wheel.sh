#!/usr/bin/env bash
# The wheel, installed into an empty environment, has everything that the demo needs.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir "$folder" .
.venv/bin/python -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet -c constraints.txt "$folder"/assay_xai-*.whl
cd "$folder"
venv/bin/assay ls studies
venv/bin/assay demo --store demo > demo.txt
test -s demo/report/index.html
tail -n 3 demo.txt
echo "wheel: the demo runs from an empty environment"
