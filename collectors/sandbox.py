"""The sandbox: code that a model wrote is evaluated, and can do nothing else.

1. The syntax tree passes an allow-list first: functions, expressions and control flow. No import, no
   class, no name or attribute that begins with an underscore, no method that formats by template.
2. It runs in an interpreter of its own (``python -I -S``) under bubblewrap: new namespaces, no network,
   no capabilities, nobody's uid, the interpreter's and the system's libraries read-only, and nothing of
   this host besides.
3. Limits on memory, processor time, files and processes are set before the code is read, and are hard;
   the clock on the wall is watched from outside. Limits alone would not do, and some do not bind root:
   the process is nobody's before it reads anything.
4. Isolation is proved once in a process, by a program that looks around from inside. Without it nothing
   is ever run: `SandboxUnavailable`.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anvil.ledger.errors import CollectorError

WALL_SECONDS = 20.0
OUTPUT_BYTES = 64 * 1024
SOURCE_BYTES = 16 * 1024

BUILTINS = (
    "ArithmeticError", "Exception", "False", "IndexError", "KeyError", "None", "StopIteration", "True",
    "TypeError", "ValueError", "ZeroDivisionError", "abs", "all", "any", "bool", "chr", "dict", "divmod",
    "enumerate", "filter", "float", "frozenset", "int", "isinstance", "iter", "len", "list", "map", "max",
    "min", "next", "ord", "pow", "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
)  # fmt: skip
"""All that the code finds of the built-in names."""

_ALLOWED_NODES = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Raise,
    ast.Try, ast.ExceptHandler, ast.Assert, ast.Nonlocal, ast.BoolOp, ast.NamedExpr, ast.BinOp,
    ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.JoinedStr,
    ast.FormattedValue, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List,
    ast.Tuple, ast.Slice, ast.Yield, ast.YieldFrom, ast.expr_context, ast.boolop, ast.operator, ast.unaryop,
    ast.cmpop,
)  # fmt: skip
_NOBODY = 65_534
_FORMATTING = frozenset({"format", "format_map"})

_IMPORTS = "import __future__, builtins, json, os, resource, socket, sys"
"""Everything is imported while the files can still be read, and opened."""

_AS_NOBODY = f"""
if os.getuid() == 0:
    os.setgroups([])
    os.setresgid({_NOBODY}, {_NOBODY}, {_NOBODY})
    os.setresuid({_NOBODY}, {_NOBODY}, {_NOBODY})
"""

_LIMITS = """
for kind, most in (
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_AS, 512 << 20),
    (resource.RLIMIT_CPU, 2),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NPROC, 0),
    (resource.RLIMIT_NOFILE, 3),
):
    resource.setrlimit(kind, (most, most))
"""

_EVALUATE = """
task = json.load(sys.stdin)
names = {name: getattr(builtins, name) for name in task["builtins"] if hasattr(builtins, name)}
space = {"__builtins__": names, "__name__": "answer"}
flags = __future__.annotations.compiler_flag

def called(arguments):
    try:
        value = space[task["function"]](*arguments)
        return {"value": json.loads(json.dumps(value, allow_nan=False))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:1000]}

try:
    exec(compile(task["source"], "answer", "exec", flags=flags, dont_inherit=True), space)
    results = [called(arguments) for arguments in task["cases"]]
except Exception as error:
    results = [{"error": f"{type(error).__name__}: {error}"[:1000]}] * len(task["cases"])
print(json.dumps(results))
"""

_LOOK_AROUND = """
canary = sys.stdin.read()
seen = [name for _, name in socket.if_nameindex() if name != "lo"]
seen += [path for path in (canary, "/etc/passwd", "/proc/1", "/sys/class") if os.path.exists(path)]
if 0 in os.getresuid() + os.getresgid(): seen.append("root")
if os.getpid() > 9: seen.append("other processes")
if len(os.environ) > 3: seen.append("environment")
try:
    open("/usr/.anvil", "w"); seen.append("/usr can be written")
except OSError: pass
"""

_TRY_TO_FORK = """
try:
    if os.fork() == 0: os._exit(0)
    seen.append("processes can be made")
except OSError: pass
print("isolated" if not seen else "visible: " + ", ".join(seen))
"""

_RUNNER = _LIMITS + _EVALUATE
_PROOF = _LOOK_AROUND + _LIMITS + _TRY_TO_FORK


class SandboxUnavailable(CollectorError):
    """Code cannot be isolated on this host, so it is not run."""


@dataclass(frozen=True)
class Evaluation:
    """What became of the code: a value or an error for each case, or why there is neither."""

    results: tuple[dict[str, Any], ...] = ()
    problem: str = ""


def refusal(source: str, function: str) -> str:
    """Return why code is not evaluated, or an empty text."""
    if len(source.encode("utf-8", "replace")) > SOURCE_BYTES:
        return f"the code has more than {SOURCE_BYTES} bytes"
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the code does not parse: {error}"
    for node in ast.walk(tree):
        if why := _refused(node):
            return f"line {getattr(node, 'lineno', '?')}: {why}"
    # A one-liner that binds a lambda is as good as a function.
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return "" if function in names else f"the code defines no {function!r}"


def _refused(node: ast.AST) -> str:
    if not isinstance(node, _ALLOWED_NODES):
        return f"{type(node).__name__} is not allowed"
    if isinstance(node, ast.FunctionDef) and (node.decorator_list or node.name.startswith("__")):
        return "decorators and such names are not allowed"
    if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in _FORMATTING):
        return f"the attribute {node.attr!r} is not allowed"
    if isinstance(node, ast.Name) and (node.id.startswith("__") or _is_other_builtin(node.id)):
        return f"the name {node.id!r} is not allowed"
    return ""


def _is_other_builtin(name: str) -> bool:
    return hasattr(builtins, name) and name not in BUILTINS


async def evaluate(source: str, function: str, cases: Sequence[Sequence[Any]]) -> Evaluation:
    """Call `function` of `source` with each of `cases`, in isolation. All are JSON values.

    Raises:
        SandboxUnavailable: this host offers no isolation.
    """
    if why := refusal(source, function):
        return Evaluation(problem=why)
    await _prove_isolation()
    task = {"source": source, "function": function, "cases": list(cases), "builtins": BUILTINS}
    code, output, errors = await _run(_RUNNER, json.dumps(task).encode())
    if code != 0:
        return Evaluation(problem=f"the interpreter ended with {code}: {errors}".strip())
    try:
        results = json.loads(output)
    except ValueError:
        return Evaluation(problem=f"the interpreter printed something else: {output[:1000]!r}")
    return Evaluation(tuple(results))


@dataclass
class _Host:
    is_proved: bool = False


_HOST = _Host()
"""What this process knows of the host it runs on."""


async def _prove_isolation() -> None:
    if _HOST.is_proved:
        return
    if shutil.which("bwrap") is None:
        raise SandboxUnavailable("bubblewrap (bwrap) is not installed", advice="Install bubblewrap.")
    with tempfile.NamedTemporaryFile() as canary:
        code, output, errors = await _run(_PROOF, canary.name.encode())
    if code != 0 or output.strip() != b"isolated":
        found = output.decode("utf-8", "replace").strip()
        raise SandboxUnavailable(
            f"bubblewrap does not isolate here: exit {code}; {errors or found}",
            advice="User namespaces must be allowed for bubblewrap.",
        )
    _HOST.is_proved = True


def _command(program: str) -> list[str]:
    interpreter = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    libraries = ["/usr", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache"]
    places = dict.fromkeys([*libraries, sys.base_prefix])
    bound = [word for place in places for word in ("--ro-bind-try", place, place)]
    nobody = str(_NOBODY)
    # In a user namespace of root's, nobody would still be root to the kernel when it counts processes.
    # So root makes none, and becomes nobody for good before the program begins.
    identity = (
        ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        if os.geteuid() == 0
        else ["--unshare-user", "--uid", nobody, "--gid", nobody]
    )
    return [
        "bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--cap-drop", "ALL", *identity, "--die-with-parent", "--new-session", "--clearenv",
        *bound, "--remount-ro", "/", "--chdir", "/",
        "--", str(interpreter), "-I", "-S", "-B", "-c", _IMPORTS + _AS_NOBODY + program,
    ]  # fmt: skip


async def _run(program: str, given: bytes) -> tuple[int | None, bytes, str]:
    """Run a program in the sandbox; return its exit code, output and errors, both cut at a limit."""
    process = await asyncio.create_subprocess_exec(
        *_command(program),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WALL_SECONDS):
            output, errors, _ = await asyncio.gather(
                _bounded(process.stdout), _bounded(process.stderr), _give(process.stdin, given)
            )
            return await process.wait(), output, errors.decode("utf-8", "replace").strip()
    except TimeoutError:
        return None, b"", f"not done after {WALL_SECONDS:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _bounded(stream: asyncio.StreamReader | None) -> bytes:
    kept = bytearray()
    while stream is not None and (piece := await stream.read(8192)):
        kept += piece[: max(0, OUTPUT_BYTES - len(kept))]  # the rest is read, so that it can end
    return bytes(kept)


async def _give(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    if stream is None:
        return
    try:
        stream.write(given)
        await stream.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # it ended before it read; its exit code says why
    finally:
        stream.close()
