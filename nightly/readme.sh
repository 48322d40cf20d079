#!/usr/bin/env bash
# Runs the commands that the README shows in its console blocks, in their order, and holds
# each to its exit status: 0, or what stands behind it in `# exit status N`. The test script
# is left out, for it runs by itself.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf target/worked-failure
sed -n '/^```console$/,/^```$/s/^\$ //p' README.md | while read -r line; do
    command=${line%%' # exit status '*}
    expected=0
    [ "$command" = "$line" ] || expected=${line##*' # exit status '}
    [ "$command" != nightly/test.sh ] || continue
    printf '\n$ %s\n' "$command"
    status=0
    bash -c "$command" </dev/null || status=$?
    if [ "$status" -ne "$expected" ]; then
        printf 'nightly/readme.sh: exit status %s, the README says %s\n' "$status" "$expected" >&2
        exit 1
    fi
done
