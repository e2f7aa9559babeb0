"""The person's own editor: which one, and run on a file."""

import os
import shlex
import subprocess
from pathlib import Path


class NoEditor(Exception):
    """None is set."""


class EditorFailed(Exception):
    """It did not come to an end as it should; the message says how."""


def editor_argv() -> list[str]:
    """As VISUAL or EDITOR name it, with its arguments.

    Raises:
        NoEditor: neither does.
        EditorFailed: it is no command line.
    """
    name = "VISUAL" if os.environ.get("VISUAL") else "EDITOR"
    try:
        argv = shlex.split(os.environ.get(name, ""))
    except ValueError:
        raise EditorFailed(f"{name} has an unclosed quote") from None
    if not argv:
        raise NoEditor
    return argv


def run_editor(argv: list[str], file: Path) -> None:
    """Returns when it was left. Raises EditorFailed."""
    try:
        code = subprocess.run([*argv, str(file)], check=False).returncode
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else str(trouble)
        raise EditorFailed(f"The editor {argv[0]} cannot be started: {reason}") from None
    if code:
        raise EditorFailed(f"The editor {argv[0]} ended with {code}")
