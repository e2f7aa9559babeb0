"""The real claude CLI, out of the wheel that carries it, and a clean world for it to run in."""

import os
from importlib.util import find_spec
from pathlib import Path

from support.plugins.requirements import needs


def claude_binary() -> Path | None:
    """The CLI that the installed claude-agent-sdk brings along; None where it has none for this platform."""
    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "_bundled" / "claude"
    return binary if binary.is_file() and os.access(binary, os.X_OK) else None


CLAUDE = claude_binary()

needs_claude = needs(
    "claude",
    "" if CLAUDE else "the claude CLI is absent: the claude-agent-sdk wheel for this platform does not have it",
)


def claude_environment(home: Path, api_url: str, *, retries: int = 1) -> dict[str, str]:
    """Nothing but what the CLI needs to talk to the stand-in: no account, no other network, no state but in `home`."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": "stand-in",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
        "DISABLE_AUTOUPDATER": "1",
    }


_DIES = """#!/bin/sh
if [ -e {flag} ]; then
    rm {flag}
    while read -r line; do
        case "$line" in *'"type": "user"'*) kill -9 $$ ;; esac
    done
fi
exec {claude} "$@"
"""


def claude_that_dies_early(directory: Path) -> tuple[Path, Path]:
    """The real CLI behind a script, and a flag file.

    While the flag exists, the next agent removes it, reads its input up to a person's message and kills itself: it was
    given the message and did not write it to its transcript.
    """
    directory.mkdir(parents=True, exist_ok=True)
    program, flag = directory / "claude-or-die", directory / "die"
    program.write_text(_DIES.format(flag=flag, claude=CLAUDE))
    program.chmod(0o755)
    return program, flag
