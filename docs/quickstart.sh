#!/usr/bin/env bash
# The first minutes with anvil, each command shown before it runs: a ledger is created, a small model is
# launched on the processor and asked what the recipe selects, all that was recorded is verified, and pages
# are made of it: what was found, and what failed.
# `make quickstart` runs it; `anvil` must be on PATH, installed with the extra `quickstart`.
#
# Everything lies in one new folder, which is named at the end: ledger, keys and head anchor. Nothing of it
# touches the ledgers and keys that you may have already. Only the model file lies elsewhere, in the user's
# cache, so that it is fetched once.
set -euo pipefail

folder="$(mktemp -d "${TMPDIR:-/tmp}/anvil-quickstart.XXXXXX")"
export ANVIL_LEDGER="$folder/ledger" ANVIL_KEYS="$folder/keys" ANVIL_STATE="$folder/state"

step() {
    echo
    echo "\$ $*"
    "$@"
}

step anvil init --origin localhost/quickstart
step anvil run quickstart

# A run comes to its end whatever became of its engine. This one is of use only where the model was asked.
if ! anvil status --json | python3 -c '
import json, sys
(run,) = json.load(sys.stdin)["campaigns"][0]["attempts"]["cpu"]
sys.exit(run["checks"]["identity"]["outcome"] != "passed")'; then
    echo
    echo "The engine did not answer, so no model was asked. That too is recorded, in $folder;"
    echo "the engine's log says why:"
    echo
    echo "    export PATH=\"$(dirname "$(command -v anvil)"):\$PATH\""
    echo "    export ANVIL_LEDGER=$ANVIL_LEDGER ANVIL_KEYS=$ANVIL_KEYS ANVIL_STATE=$ANVIL_STATE"
    echo "    anvil log --event engine.exited         # its end, and its index"
    echo "    anvil show INDEX                        # with the last lines of its log"
    exit 1
fi

# A run decides nothing; a person does, and says on what it rests.
finish="$(anvil status --json | python3 -c '
import json, sys
(run,) = json.load(sys.stdin)["campaigns"][0]["attempts"]["cpu"]
print(run["checks"]["finish"]["entry_hash"])')"
step anvil decide no-promotion --rests-on "$finish" --reason "So small a model is for trying anvil out."

step anvil status
step anvil verify

page() {
    echo
    echo "\$ anvil render $1 --format html > $2"
    anvil render "$1" --format html > "$2"
}

failures="$folder/candidate-failure.html" summary="$folder/qualification-summary.html"
page candidate-failure.v1 "$failures"
page sanitized-qualification-summary.v1 "$summary"

cat <<END

A real model was asked, and what it answered is kept: checks that failed are results, not faults of the run.
The ledger lies in $folder; to go on with it:

    export PATH="$(dirname "$(command -v anvil)"):\$PATH"
    export ANVIL_LEDGER=$ANVIL_LEDGER ANVIL_KEYS=$ANVIL_KEYS ANVIL_STATE=$ANVIL_STATE
    anvil log --event check.completed       # each check that was carried out, and its index
    anvil show INDEX                        # one event whole: what was asked for, found and kept
    anvil recipe show quickstart            # what was launched, one argument a line

Then write a recipe of your own: docs/recipes.md. What each check asks: docs/checks.md.

What was found, what failed, and how strong the evidence of each is, as pages for a browser:

    $failures
    $summary
END
