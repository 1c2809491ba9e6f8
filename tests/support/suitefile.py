"""A suite file that is good, in TOML and in JSON, to be broken in one place."""

from __future__ import annotations

import json
import tomllib

GOOD = r"""format = "anvil.suite/1"
name = "house"
version = 2
about = "Questions of a house"
purpose = "ranking"

[[items]]
id = "sum"
system = "Answer with the number alone."
prompt = "What is 6 times 7?"
validator = "exact"
expected = "42"

[[items]]
id = "code"
prompt = "Answer with a code: two capital letters and three figures."
validator = "regex_full"
pattern = '[A-Z]{2}\d{3}'

[[items]]
id = "object"
prompt = "Answer with the JSON object with the key a and the value [1, 2]."
validator = "json_equals"
expected = { a = [1, 2] }

[[items]]
id = "call"
prompt = "Ring the bell three times."
validator = "tool_call"
expected = { name = "ring", arguments = { times = 3 } }

[[items.tools]]
type = "function"
function = { name = "ring", description = "Rings.", parameters = { type = "object" } }
"""


def as_json(text: str = GOOD) -> str:
    return json.dumps(tomllib.loads(text), indent=1)
