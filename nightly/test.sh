#!/usr/bin/env bash
# Runs every test of the workspace, and first installs the system packages that they need
# where it can: on Debian and Ubuntu, as root or through sudo without a password. Elsewhere
# it says exactly what is missing. Arguments are passed on to the test runner.
set -euo pipefail
cd "$(dirname "$0")/.."

source nightly/packages.sh
need_packages

cargo test --workspace --locked "$@"
