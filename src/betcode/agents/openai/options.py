"""The program's options, and its API key, which is never shown."""

import argparse
import ctypes
import os
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_LONG_ENOUGH = 20
OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class OpenAiOptions:
    transcripts: Path
    base_url: str = OPENAI
    wire: str = "responses"  # or "chat"
    model: str = ""
    key_variable: str = ""
    key: str = field(default="", repr=False)
    context_tokens: int = 128_000
    max_steps: int = 200
    asks_reads: bool = False  # also for files inside the project
    waits_s: tuple[float, ...] = (0.5, 2.0, 8.0)  # before a retry, if the API names no delay


def parse(argv: Sequence[str], environ: MutableMapping[str, str]) -> OpenAiOptions:
    """Takes the key out of the environment, so that no command of the model inherits it."""
    parser = argparse.ArgumentParser(prog="betcode.agents.openai", description=__doc__)
    parser.add_argument("--transcripts", type=Path, required=True, help="directory of the stored conversations")
    parser.add_argument("--base-url", default=OPENAI)
    parser.add_argument("--wire", choices=("responses", "chat"), default="responses")
    parser.add_argument("--model", default="")
    parser.add_argument("--key-variable", default="", help="environment variable with the API key")
    parser.add_argument(
        "--context-tokens", type=int, default=128_000, help="size of the model's context window, in tokens"
    )
    parser.add_argument("--max-steps", type=int, default=200, help="maximum number of model calls in one turn")
    parser.add_argument("--ask-reads", action="store_true", help="also ask before reading inside the project")
    said = parser.parse_args(argv)
    return OpenAiOptions(
        transcripts=said.transcripts,
        base_url=said.base_url,
        wire=said.wire,
        model=said.model,
        key_variable=said.key_variable,
        key=_take(said.key_variable, environ),
        context_tokens=said.context_tokens,
        max_steps=said.max_steps,
        asks_reads=said.ask_reads,
    )


def _take(variable: str, environ: MutableMapping[str, str]) -> str:
    """Return the value and remove it from the environment, with every variable that contains it."""
    key = environ.get(variable, "").strip() if variable else ""
    for name in [name for name, value in environ.items() if name == variable or _is_told(key, value)]:
        if environ is os.environ:
            _blot_out(name)
        del environ[name]
    return key


def _is_told(key: str, value: str) -> bool:
    """Return whether the key is long enough to search for: a short dummy key may be part of other values."""
    return bool(key) and (value.strip() == key or (len(key) >= _LONG_ENOUGH and key in value))


def _blot_out(name: str) -> None:
    """Also where the kernel shows it to every process of the same user: /proc/PID/environ reads this memory."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    address = getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
