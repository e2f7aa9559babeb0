"""Show what a repository's setup would run, and ask for trust before its first run."""

import os
import shlex
from pathlib import Path

from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.line_question import confirm
from betcode.client import Client
from betcode.config.load import resolve
from betcode.config.origins import OF_PROJECTS
from betcode.domain.repositories.setup_script import SCRIPT
from betcode.v1 import worktree_pb2 as v1

_SHOWN_LINES = 40
_READ_BYTES = 64 * 1024


async def confirm_trust(client: Client, options: CommandOptions, screen: Screen, made: v1.WorktreeInfo) -> bool:
    """Ask whether to trust the repository from now on; without a terminal, print how to trust it."""
    how = f"betcode policy trust {shlex.quote(made.repo_path)}, then: betcode worktree setup {shlex.quote(made.name)}"
    if not can_ask() or options.paths.remote is not None:
        screen.note(made.trouble or f"Not set up, because this repository is not trusted. To trust it: {how}")
        return False
    screen.show("The worktree exists. Its setup waits, because this repository is not trusted:")
    for line in what_would_run(made, options):
        screen.show(line)
    question = f"Trust {made.repo_path}, with this and its allow rules, in all its worktrees? [y/N] "
    if not await confirm(screen, question):
        screen.note(f"Not set up. To trust it later: {how}")
        return False
    # Both paths of the repository: if git's directory is elsewhere, only files lead from one to the other.
    for path in (made.path, made.repo_path):
        await client.policy.trust(path, trusted=True)
    return True


def what_would_run(made: v1.WorktreeInfo, options: CommandOptions) -> list[str]:
    """Return the script, the commands and the files to copy, as they are in the new worktree and its repository."""
    lines: list[str] = []
    # A bare repository has no files except those of its worktrees.
    project = made.repo_path if (Path(made.repo_path) / ".git").exists() else made.path
    for path in (made.path, project):
        if (Path(path) / SCRIPT).is_file():
            lines += _script_lines(Path(path) / SCRIPT)
            break
    loaded = resolve(options.paths.config_dir, os.environ, None, Path(project))
    ours = loaded.settings.worktree
    for key, says, each in (
        ("worktree.setup_commands", "runs", [shlex.join(command) for command in ours.setup_commands]),
        ("worktree.bring_along", "copies from the repository", list(ours.bring_along)),
    ):
        if loaded.origin(key).layer in OF_PROJECTS:
            lines += [f"{loaded.origin(key)} {says}:", *(f"  {one}" for one in each)]
    return lines


def _script_lines(script: Path) -> list[str]:
    try:
        with script.open("rb") as file:
            text = file.read(_READ_BYTES).decode(errors="replace").splitlines()
    except OSError as trouble:
        return [f"{script} cannot be read: {trouble.strerror}"]
    more = [f"  … read the rest in {script}"] if len(text) > _SHOWN_LINES else []
    return [f"{script}:", *(f"  {line}" for line in text[:_SHOWN_LINES]), *more]
