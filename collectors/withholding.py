"""What must not leave: values that stand for a person's or a machine's rights.

1. An environment variable is kept when its name begins like one that engines are configured with
   and holds none of the parts that name a credential. Every other value is withheld.
2. A value withheld under a name of a credential is a secret, and is looked for wherever text is
   kept: as it is, inside longer text, percent-encoded, escaped as in JSON, as hex, and as base64 at
   any alignment. Values that stand for everything (`true`, `auto`, a short number) are not looked for.
3. Without knowing any value: what follows the name of a credential (`--api-key X`, `hf_token=X`,
   `"password": "X"`), a bearer, the user part of a URL, and tokens whose issuers gave them a shape.
4. Withheld text becomes one fixed marker. Names and numbers of what was withheld are given back;
   never a value, its length or a part of it.
5. An argument, label or text may lose more than it had to, never less: what is withheld stays with
   whoever ran it.
"""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MARKER = "[withheld]"
"""What stands where something was withheld."""

# --- 1. names -----------------------------------------------------------------------------------------

_KEPT_PREFIXES = (
    "VLLM_", "SGLANG_", "SGL_", "LLAMA_", "LLAMA_ARG_", "GGML_", "NCCL_", "GLOO_", "UCX_", "CUDA_", "CUDNN_",
    "CUBLAS_", "NVIDIA_", "NV_", "TRITON_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "FLASHINFER_", "FLASH_",
    "OMP_", "MKL_", "SAFETENSORS_", "ROCM_", "HIP_", "LC_",
)  # fmt: skip
_KEPT_NAMES = frozenset({
    "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "LANG", "TZ",
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHON_VERSION",
    "MAX_JOBS", "ANVIL_LAUNCH",
})  # fmt: skip
_NEVER_KEPT = (
    "KEY", "TOKEN", "SECRET", "PASS", "PWD", "CRED", "AUTH", "BEARER", "COOKIE", "SESSION", "SIGNATURE",
    "PRIVATE", "CERT", "LICENSE", "WEBHOOK", "DSN", "PROXY",
)  # fmt: skip

_SECRET_WORDS = frozenset({
    "key", "apikey", "token", "hft", "secret", "pass", "password", "passwd", "passphrase", "pwd", "pat",
    "cred", "creds", "credential", "credentials", "auth", "authorization", "bearer", "cookie", "cookies", "sig",
    "signature", "private", "dsn", "jwt", "otp", "webhook",
})  # fmt: skip
_SECRET_PARTS = ("apikey", "secret", "passw", "passphrase", "credential", "accesskey", "authtoken")
_NOT_SECRET = frozenset({"pwd", "oldpwd", "sandboxkey"})
_WORD_BREAKS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


def may_keep(name: str) -> bool:
    """Say whether the value of the environment variable `name` may be kept."""
    upper = name.upper()
    if any(part in upper for part in _NEVER_KEPT):
        return False
    return name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)


def names_secret(name: str) -> bool:
    """Say whether `name` (a variable, option, label or member) is the name of a credential.

    It goes by whole words, so that `--max-num-batched-tokens` and `--tokenizer` are none.
    """
    words = {word.lower() for word in _WORD_BREAKS.split(name)}
    lower = name.lower()
    if lower in _NOT_SECRET:
        return False
    return not words.isdisjoint(_SECRET_WORDS) or any(part in lower for part in _SECRET_PARTS)


# --- 2. values that are looked for ----------------------------------------------------------------------

_COMMON = frozenset({
    "true", "false", "none", "null", "auto", "default", "enabled", "disabled", "empty", "bearer", "basic",
    "localhost", "unlimited", "required",
})  # fmt: skip
_SHORT_NUMBER = re.compile(r"[+-]?[0-9.]{1,9}")
_CONTROLS = {"\n": "n", "\t": "t", "\r": "r"}
_OPAQUE = re.compile(r"[A-Za-z0-9_\-+=.~/]{16,}")
_PARTS = re.compile(r"[\s,;\"'{}\[\]]+")
_LONG_ENOUGH = 6
_BASE64_DIGITS = string.ascii_letters + string.digits + "+/-_"
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/_-]")


@dataclass(frozen=True)
class Secrets:
    """Values to look for in everything that is kept. It never prints them."""

    values: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, environment: Mapping[str, str], others: Iterable[str] = ()) -> Secrets:
        """Return the secrets in an environment, and `others`: values known to be secret, as they are."""
        found: set[str] = set()
        for name, value in environment.items():
            if names_secret(name):
                found |= _pieces(value)
            else:
                found |= {piece for piece in _passwords(value) if _is_worth_finding(piece)}
                if not may_keep(name) and _looks_random(value):
                    found.add(value)
        for value in others:
            found |= _pieces(value)
        return cls(frozenset(found))

    def joined(self, other: Secrets) -> Secrets:
        """Return the secrets of both."""
        return Secrets(self.values | other.values)

    @cached_property
    def anywhere(self) -> re.Pattern[str] | None:
        """What matches any long enough value, as it is or escaped; null without one."""
        return _either(_spellings(value) for value in self._long())

    @cached_property
    def in_base64(self) -> re.Pattern[str] | None:
        """What matches the digits that any long enough value always gives; null without one."""
        return _either(_base64_cores(value) for value in self._long())

    @cached_property
    def alone(self) -> re.Pattern[str] | None:
        """What matches a short value where it is a whole word; null without one."""
        short = [re.escape(value) for value in self.values if len(value) < _LONG_ENOUGH]
        return re.compile(rf"(?<![\w.-])(?:{'|'.join(short)})(?![\w.-])") if short else None

    def _long(self) -> list[str]:
        return sorted((v for v in self.values if len(v) >= _LONG_ENOUGH), key=len, reverse=True)


NO_SECRETS = Secrets()


def _pieces(value: str) -> set[str]:
    """Return a secret value, and the parts of it that are secret by themselves.

    A key file has many lines, a header a scheme before its token, a registry's login is JSON.
    """
    candidates = {value, value.strip(), *_passwords(value), *_OPAQUE.findall(value)}
    candidates |= {p for p in _PARTS.split(value) if len(p) >= _LONG_ENOUGH and not p.isalpha()}
    return {piece for piece in candidates if _is_worth_finding(piece)}


def _is_worth_finding(value: str) -> bool:
    return len(value) >= 3 and value.lower() not in _COMMON and not _SHORT_NUMBER.fullmatch(value)


def _passwords(value: str) -> set[str]:
    return {part for match in _USER_PART.finditer(value) for part in match["user"].split(":", 1) if part}


def _looks_random(value: str) -> bool:
    """Say whether a value whose name tells nothing could be a credential."""
    return (
        len(value) >= 16
        and bool(re.fullmatch(r"[A-Za-z0-9_\-+=.~]+", value))
        and bool(re.search("[0-9]", value))
        and bool(re.search("[A-Za-z]", value))
    )


def _either(expressions: Iterable[Iterable[str]]) -> re.Pattern[str] | None:
    found = [expression for group in expressions for expression in group]
    return re.compile("|".join(found)) if found else None


def _spellings(value: str) -> Iterable[str]:
    """Return one expression for each way in which `value` may be written in longer text, but base64."""
    yield "".join(_spelled(character) for character in value)
    yield f"(?i:{value.encode('utf-8', 'surrogatepass').hex()})"


def _base64_cores(value: str) -> Iterable[str]:
    """Return the digits between the first and the last, which depend on what stands beside the value."""
    raw = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + raw).decode().rstrip("=")
        core = digits[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        if len(core) >= _LONG_ENOUGH:
            yield re.escape(core).replace(r"\+", "[+-]").replace("/", "[/_]")


def _spelled(character: str) -> str:
    """Match one character as it is, escaped as in JSON or a shell, or percent-encoded once or more."""
    percent = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    ways = [rf"\\{{0,8}}{re.escape(character)}", f"(?i:{percent})", rf"(?i:\\{{1,8}}u{ord(character):04x})"]
    if character == " ":
        ways.append(r"\+")
    if character in _CONTROLS:
        ways.append(rf"\\{{1,8}}{_CONTROLS[character]}")
    return f"(?:{'|'.join(ways)})"


# --- 3. what shows itself -------------------------------------------------------------------------------

_USER_PART = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)"
    r"(?P<user>[^\s/\"'?#]{0,256}|[^\s/@:\"'?#]{0,256}:(?!\d+(?:[/?#]|$))[^\s\"'@]{0,256})@"
)
_SCHEMES = re.compile(r"(?i)\b(?P<scheme>bearer|basic)(?P<gap>(?:\s|%20|\+)+)(?P<value>[^\s\"',;&]+)")
_HEADERS = re.compile(r"(?i)\b(?P<name>(?:proxy-)?authorization|(?:set-)?cookie)(?P<sign>\s*:\s*)[^\"'\r\n]+")
_ASSIGNED = re.compile(
    r"(?P<quote>[\"']?)(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,80})(?P=quote)\s{0,8}[=:]\s{0,8}"
)
_OPTION = re.compile(r"(?<![A-Za-z0-9_-])(?P<name>--?[A-Za-z][A-Za-z0-9_.-]{0,80}) (?!--)")
_VALUE = re.compile(r"\[withheld\]|\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^\s,;&\"'}\]]+")
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|nvapi-[A-Za-z0-9_-]{16,}"
    r"|A(?:KI|SI)A[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|pypi-[A-Za-z0-9_-]{40,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def clean_text(text: str, secrets: Secrets = NO_SECRETS) -> str:
    """Return `text` without what must not leave."""
    if text in secrets.values:
        return MARKER
    for known in (secrets.anywhere, secrets.alone):
        if known:
            text = known.sub(MARKER, text)
    if secrets.in_base64:
        text = _without_base64(text, secrets.in_base64)
    text = _SHAPES.sub(MARKER, text)
    text = _USER_PART.sub(lambda found: f"{found['scheme']}{MARKER}@", text)
    text = _HEADERS.sub(lambda found: f"{found['name']}{found['sign']}{MARKER}", text)
    text = _SCHEMES.sub(lambda found: f"{found['scheme']}{found['gap']}{MARKER}", text)
    for pattern in (_ASSIGNED, _OPTION):
        text = _without_values(text, pattern)
    return text


def _without_base64(text: str, cores: re.Pattern[str]) -> str:
    """Return `text` without the runs of base64 in which a secret's digits stand.

    The run goes as a whole: its digits beside the core hold bits of the secret too.
    """
    parts: list[str] = []
    done = 0
    while found := cores.search(text, done):
        before = text[done : found.start()]
        border = len(before.rstrip(_BASE64_DIGITS))
        after = _NOT_BASE64.search(text, found.end())
        end = after.start() if after else len(text)
        parts += [before[:border], MARKER]
        done = end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
    return "".join(parts) + text[done:]


def clean_url(url: str, secrets: Secrets = NO_SECRETS) -> str:
    """Return a URL without its user part and without secrets in its query, fragment or path."""
    return clean_text(url, secrets)


def _without_values(text: str, names: re.Pattern[str]) -> str:
    """Return `text` without the values that follow the name of a credential.

    What follows another name is looked at in its turn: it may be a URL with names of its own.
    """
    parts: list[str] = []
    done = position = 0
    while found := names.search(text, position):
        position = found.end()
        value = _VALUE.match(text, position) if names_secret(found["name"]) else None
        if value:
            quote = value[0][0] if value[0][0] in "\"'" else ""
            parts += [text[done:position], f"{quote}{MARKER}{quote}"]
            done = position = value.end()
    return "".join(parts) + text[done:]


# --- 4. environments, argument lists, inspect output ------------------------------------------------------


def clean_env(env: Mapping[str, str], secrets: Secrets = NO_SECRETS) -> tuple[dict[str, str], list[str]]:
    """Return every name with its value or the marker, and the names whose values were withheld."""
    kept = {
        name: clean_text(value, secrets) if may_keep(name) else MARKER for name, value in sorted(env.items())
    }
    return kept, [name for name in kept if kept[name] != env[name]]


_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)


def clean_argv(argv: Sequence[str], secrets: Secrets = NO_SECRETS) -> tuple[list[str], int]:
    """Return an argument list, and how many of its elements were withheld, wholly or in part.

    An element that follows the name of a credential is withheld whole, unless it is an option itself.
    What follows `-c` is a shell's command: text with several words, not one argument.
    """
    cleaned: list[str] = []
    for position, element in enumerate(argv):
        previous = argv[position - 1] if position else ""
        follows = previous.startswith("-") and "=" not in previous and names_secret(previous)
        if follows and " " not in previous and not element.startswith("--"):
            cleaned.append(MARKER)
        else:
            cleaned.append(
                clean_text(element, secrets) if previous == "-c" else _clean_argument(element, secrets)
            )
    return cleaned, sum(1 for before, after in zip(argv, cleaned, strict=True) if before != after)


def _clean_argument(element: str, secrets: Secrets) -> str:
    """Clean one argument: all behind `name=`, members when it is JSON, and text otherwise."""
    assigned = _ASSIGNMENT.match(element)
    if assigned and assigned[2] and names_secret(assigned[1]):
        return f"{assigned[1]}={MARKER}"
    if element[:1] in ("{", "["):
        try:
            parsed = json.loads(element)
        except (ValueError, RecursionError):
            return clean_text(element, secrets)
        cleaned = clean_document(parsed, secrets)[0]
        if cleaned != parsed:
            return json.dumps(cleaned, ensure_ascii=False)
    return clean_text(element, secrets)


_ARGUMENTS = frozenset({"cmd", "args", "argv", "entrypoint", "test", "command"})


def clean_document(value: Any, secrets: Secrets = NO_SECRETS, *, under: str = "") -> tuple[Any, int]:
    """Return a JSON value without what must not leave, and how many of its strings were changed.

    Lists named `Env` are environments; `Cmd`, `Args`, `Entrypoint` and the like are argument lists; a
    string below the name of a credential is withheld; all else is cleaned as text, names included.
    """
    if isinstance(value, str):
        cleaned = MARKER if value and names_secret(under) else clean_text(value, secrets)
        return cleaned, int(cleaned != value)
    if isinstance(value, Mapping):
        return _clean_members(value, secrets, is_env=under.lower() == "env")
    if isinstance(value, list):
        if under.lower() == "env" and all(isinstance(item, str) for item in value):
            return _clean_assignments(value, secrets)
        if under.lower() in _ARGUMENTS and all(isinstance(item, str) for item in value):
            return clean_argv(value, secrets)
        parts = [clean_document(item, secrets, under=under) for item in value]
        return [part for part, _ in parts], sum(number for _, number in parts)
    return value, 0


def clean_inspect(inspected: Mapping[str, Any], secrets: Secrets = NO_SECRETS) -> tuple[dict[str, Any], int]:
    """Return what a container engine says of a container, without what must not leave, and the number withheld."""
    members, number = _clean_members(inspected, secrets, is_env=False)
    return members, number


def _clean_members(
    members: Mapping[str, Any], secrets: Secrets, *, is_env: bool
) -> tuple[dict[str, Any], int]:
    cleaned: dict[str, Any] = {}
    number = 0
    for name, value in members.items():
        if is_env and not may_keep(name):
            part, changed = MARKER, 1
        else:
            part, changed = clean_document(value, secrets, under=name)
        kept_name = clean_text(name, secrets)
        cleaned[kept_name] = part
        number += changed + (kept_name != name)
    return cleaned, number


def _clean_assignments(lines: list[str], secrets: Secrets) -> tuple[list[str], int]:
    cleaned = []
    for line in lines:
        name, sign, value = line.partition("=")
        kept = clean_text(value, secrets) if may_keep(name) else MARKER
        cleaned.append(f"{clean_text(name, secrets)}{sign}{kept if sign else ''}")
    return cleaned, sum(1 for before, after in zip(lines, cleaned, strict=True) if before != after)
