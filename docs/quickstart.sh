#!/usr/bin/env bash
# The first minutes with anvil, each command shown before it runs: a ledger is created, a small stream of
# observations is appended, and all of it is verified. `make quickstart` runs it; `anvil` must be on PATH.
#
# Everything lies in one new folder, which is named at the end: ledger, keys and head anchor. Nothing of it
# touches the ledgers and keys that you may have already.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
folder="$(mktemp -d "${TMPDIR:-/tmp}/anvil-quickstart.XXXXXX")"
export ANVIL_LEDGER="$folder/ledger" ANVIL_KEYS="$folder/keys" ANVIL_STATE="$folder/state"

step() {
    echo
    echo "\$ $*"
    "$@"
}

step anvil init --origin quickstart.test.invalid

# One observation a line: evidence status, a tab, what was seen.
count=0
while IFS=$'\t' read -r status text; do
    case "$status" in "" | "#"*) continue ;; esac
    step anvil observe "$text" --status "$status"
    count=$((count + 1))
done <"$here/quickstart.tsv"

step anvil log
step anvil verify

echo
echo "Created a ledger, appended $count observations and verified it."
echo "It lies in $folder; to go on with it:"
echo
echo "    export PATH=\"$(dirname "$(command -v anvil)"):\$PATH\""
echo "    export ANVIL_LEDGER=$ANVIL_LEDGER ANVIL_KEYS=$ANVIL_KEYS ANVIL_STATE=$ANVIL_STATE"
