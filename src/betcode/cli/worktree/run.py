"""`betcode worktree run`: run a command in a worktree on this machine, without a shell."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.terminal.console import standard_screen
from betcode.cli.worktree.lookup import find_worktree
from betcode.cli.worktree.rendering import info_json
from betcode.domain.repositories.setup_script import variables_of
from betcode.v1 import worktree_pb2 as v1


def run(options: CommandOptions) -> int:
    """Replace this process by the command; with --json, wait for it and return its exit code."""
    argv = options.texts("argv")
    if not argv or not argv[0]:
        raise CommandFailed(
            "Put the command after `--`: betcode worktree run NAME -- make test", ExitCode.INVALID_ARGUMENTS
        )
    refuse_remote(options.paths)
    worktree = anyio.run(_found, options)
    if not Path(worktree.path).is_dir():
        raise CommandFailed(f"{worktree.path} no longer exists. See: betcode worktree list", ExitCode.INVALID_ARGUMENTS)
    try:
        return _wait(worktree, argv) if options.as_json else _become(worktree, argv)
    except OSError as trouble:
        raise CommandFailed(f"{argv[0]} cannot be run: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from trouble


async def _found(options: CommandOptions) -> v1.WorktreeInfo:
    async with connected(options, standard_screen()) as client:
        return await find_worktree(client, options, options.text("name"))


def environment_of(worktree: v1.WorktreeInfo) -> dict[str, str]:
    """Return this shell's environment with the variables of worktree setups."""
    return {
        **os.environ,
        "PWD": worktree.path,
        **variables_of(
            worktree_id=worktree.id,
            name=worktree.name,
            path=worktree.path,
            branch=worktree.branch,
            repository=worktree.repo_path,
        ),
    }


def _become(worktree: v1.WorktreeInfo, argv: Sequence[str]) -> int:
    os.chdir(worktree.path)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(argv[0], list(argv), environment_of(worktree))  # noqa: S606 - a person's own command, without a shell


def _wait(worktree: v1.WorktreeInfo, argv: Sequence[str]) -> int:
    began = time.monotonic()
    process = subprocess.Popen(argv, cwd=worktree.path, env=environment_of(worktree), stdout=sys.stderr.fileno())
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            pass  # the command gets Ctrl-C too, and decides what it means
    code = code if code >= 0 else 128 - code
    facts = {"worktree": info_json(worktree), "argv": list(argv), "exit_code": code}
    standard_screen().json(facts | {"duration_ms": int((time.monotonic() - began) * 1000)}, indent=2)
    return code
