"""How many uses of tools are decided in a second, among a thousand rules.

Deciding is nothing but computing, so it is processor time that is measured: others at work make no difference.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio.to_thread
import msgspec
import tree_sitter_bash
from tree_sitter import Language, Parser

from bench.figure import Effort, Figure, Judged, median
from betcode.rules import Action, Layer, PathContext, Rule, Rules, Source, ToolUse, parse_rule, screen

_DECISIONS = 20_000
T = TypeVar("T")
_ALLOW = (
    *(f"Bash(tool{number} run *)" for number in range(300)),
    *(f"Edit(src/module{number}/**)" for number in range(100)),
    *(f"Read(*.kind{number})" for number in range(50)),
    *(f"mcp__server{number}__*" for number in range(100)),
    *(f"WebFetch(domain:*.host{number}.example)" for number in range(100)),
    *("Bash(git *)", "Bash(npm run *)", "Bash(ls *)", "Read(src/**)", "Edit(src/**)"),
)
_DENY = (
    *(f"Bash(bad{number} *)" for number in range(195)),
    *(f"Read(secret{number}/**)" for number in range(100)),
    *(f"Read(*.secret{number})" for number in range(50)),
)
# Each with a number of its own, so that nothing is remembered from the one before.
_PLAIN = (
    ("Edit", '{{"file_path": "src/module7/deep/file{}.py", "old_string": "a", "new_string": "b"}}'),
    ("Read", '{{"file_path": "src/file{}.py"}}'),
    ("mcp__server7__search", '{{"query": "{}"}}'),
    ("WebFetch", '{{"url": "https://api.host7.example/{}", "prompt": "x"}}'),
    ("Grep", '{{"pattern": "x{}", "path": "src"}}'),
)
_SHELL = (
    "git log --oneline -n {}",
    "npm run test -- --shard {} 2>&1 | git hash-object --stdin",
    "ls -la src/dir{} && git status",
    'git commit -m "change {}; and more"',
    "timeout 60 npm run build{}",
)


async def measure(effort: Effort) -> list[Figure]:
    return await anyio.to_thread.run_sync(_measured, effort)


def _measured(effort: Effort) -> list[Figure]:
    rules = _rules(str(effort.root))
    number = effort.size(_DECISIONS)
    plain = [(tool, text.format(count)) for count in range(number // len(_PLAIN)) for tool, text in _PLAIN]
    shell = [text.format(count) for count in range(number // 10 // len(_SHELL)) for text in _SHELL]
    inputs = [("Bash", msgspec.json.encode({"command": text}).decode()) for text in shell]
    parser = Parser(Language(tree_sitter_bash.language()))
    effort.progress(f"{len(plain):,} plain and {len(shell):,} shell decisions")

    def decided(use: tuple[str, str]) -> None:
        screen(ToolUse.of(*use), rules)

    return [
        Figure(
            "decisions about plain tools, 1,000 rules",
            "decoding their input",
            _each_second(effort, lambda use: msgspec.json.decode(use[1]), plain),
            _each_second(effort, decided, plain),
            20_000,
            "a second",
            Judged.AT_LEAST,
            "of processor time",
        ),
        Figure(
            "decisions about shell commands, 1,000 rules",
            "parsing them",
            _each_second(effort, lambda text: parser.parse(text.encode()), shell),
            _each_second(effort, decided, inputs),
            2_000,
            "a second",
            Judged.AT_LEAST,
            "of processor time",
        ),
    ]


def _rules(directory: str) -> Rules:
    source = Source(Layer.USER)
    listed = ((Action.ALLOW, _ALLOW), (Action.DENY, _DENY))
    found = [parse_rule(text, action, source) for action, texts in listed for text in texts]
    return Rules([rule for rule in found if isinstance(rule, Rule)], PathContext(directory, "/home/nobody"))


def _each_second(effort: Effort, act: Callable[[T], object], values: Sequence[T]) -> float:
    taken: list[float] = []
    for _ in range(effort.runs):
        began = time.thread_time()
        for value in values:
            act(value)
        taken.append(len(values) / (time.thread_time() - began))
    return median(taken)
