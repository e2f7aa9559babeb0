"""Find the person's editor and run it on a file."""

import os
import shlex
import subprocess
from pathlib import Path


class NoEditor(Exception):
    """No editor is set."""


class EditorFailed(Exception):
    """The editor failed; the message says how."""


def editor_argv() -> list[str]:
    """Return the command line of VISUAL or EDITOR.

    Raises:
        NoEditor: neither is set.
        EditorFailed: it is not a valid command line.
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
    """Run the editor until it exits. Raises EditorFailed."""
    try:
        code = subprocess.run([*argv, str(file)], check=False).returncode
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else str(trouble)
        raise EditorFailed(f"The editor {argv[0]} cannot be started: {reason}") from None
    if code:
        raise EditorFailed(f"The editor {argv[0]} ended with {code}")
