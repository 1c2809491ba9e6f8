"""`intelligence`: two questions that need a little thought and have one right answer each.

1. `unified-diff`: one value of a small file is to be changed, and the answer is the diff, to the byte. The file is
   so short that three lines of context are all of it: there is one right hunk.
2. `triage`: a command has overrun its limit, and rules say what state it is in and what to do. All that is needed
   stands in the question; the log holds a wait that is over, which looks like the cause and is none.
"""

from __future__ import annotations

from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.suites.interface import Suite
from anvil.collectors.suites.questions import Question, user
from anvil.collectors.suites.validators import Exact, JsonEquals

FILE = "ferry.conf"

BEFORE = """\
name = night-ferry
harbour = west
berths = 12
retry_limit = 3
retry_pause_s = 30
report = daily
owner = quay
"""

AFTER = BEFORE.replace("retry_limit = 3", "retry_limit = 5")

DIFF = f"""\
--- a/{FILE}
+++ b/{FILE}
@@ -1,7 +1,7 @@
 name = night-ferry
 harbour = west
 berths = 12
-retry_limit = 3
+retry_limit = 5
 retry_pause_s = 30
 report = daily
 owner = quay
"""

_DIFF_QUESTION = f"""\
The file {FILE} has these seven lines:

{BEFORE}
Change retry_limit to 5 and nothing else. Answer with the change as one unified diff with three lines of context: \
first the line "--- a/{FILE}", then the line "+++ b/{FILE}", then one hunk with its header in the form \
"@@ -START,LINES +START,LINES @@". Write no time stamps, no code fence and no explanation."""

TRIAGE = {"state": "stuck", "action": "stop", "over_limit_s": 240, "silent_s": 75}

_TRIAGE_QUESTION = """\
A command has a limit of 600 seconds. This is its log; each line begins with the second at which it was written:

12 reading 40 parts
251 waiting for the lock of the cache
266 got the lock of the cache
530 joined 31 of 40 parts
765 joined 33 of 40 parts

Now it is second 840, and the command still runs. These rules hold, and the first that fits decides:
1. A command that waits for a lock which it has not got is "blocked", and the action is "release".
2. A command that wrote its last line 60 seconds ago or less is "slow", and the action is "extend".
3. Any other command that still runs is "stuck", and the action is "stop".

Answer with one JSON object and nothing else: no code fence, no explanation. It has exactly four keys: "state" and \
"action" by the rules, "over_limit_s", the number of seconds by which the limit is exceeded, and "silent_s", the \
number of seconds since the last line of the log."""

_ITEMS = (
    Question("unified-diff", (user(_DIFF_QUESTION),), Exact(DIFF)),
    Question("triage", (user(_TRIAGE_QUESTION),), JsonEquals(TRIAGE)),
)

INTELLIGENCE = Suite("intelligence", 1, "diagnostic", Parameters, lambda _: _ITEMS)
"""The suite."""
