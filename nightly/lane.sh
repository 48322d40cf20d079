#!/usr/bin/env bash
# The nightly lane, as the CI systems beside this file call it:
#
#   nightly/lane.sh run FOLDER [options of `stagefault run`]
#   nightly/lane.sh join FOLDER SHARD...
#
# `run` runs one shard into the folder, and goes on with it if it was begun there and killed.
# `join` makes one report of the shards' folders. Both exit as stagefault does: not with 0
# when a shard did nothing. `--store chaos` is postgres while connections and the server break.
# Servers are started by stagefault itself; what they are made of
# is installed here. STAGEFAULT names a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
source nightly/packages.sh

usage() {
    sed -n 's/^#   //p' nightly/lane.sh >&2
    exit 2
}

[ $# -ge 2 ] || usage
what=$1 folder=$2
shift 2

if [ -z "${STAGEFAULT:-}" ]; then
    need_packages
    cargo build --release --locked --quiet --package stagefault-nightly
    STAGEFAULT=${CARGO_TARGET_DIR:-target}/release/stagefault
fi

case $what in
run)
    if [ -e "$folder/run.json" ]; then
        printf 'nightly/lane.sh: going on with %s\n' "$folder" >&2
        "$STAGEFAULT" run --resume "$folder"
    else
        options=("$@") kind=(--writers 8)
        for index in "${!options[@]}"; do
            [ "${options[index]}" = chaos ] || continue
            options[index]=postgres kind=(--chaos)
        done
        "$STAGEFAULT" run "${kind[@]}" --max-failures 10 --known nightly/known.json \
            --out "$folder" "${options[@]}"
    fi
    grep -q '"episodes": [1-9]' "$folder/summary.json" || fail "$folder: this shard did nothing"
    ;;
join)
    [ $# -ge 1 ] || usage
    "$STAGEFAULT" report "$@" --merge "$folder"
    ;;
*) usage ;;
esac
