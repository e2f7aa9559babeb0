"""`betcode worktree create` and `setup`: create a worktree, run its setup and show the progress."""

import codecs
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.worktree.commands import print_session, switched, switched_json
from betcode.cli.worktree.lookup import find_worktree
from betcode.cli.worktree.progress import NotSetUp, watched
from betcode.cli.worktree.rendering import info_json
from betcode.cli.worktree.trust import confirm_trust
from betcode.client import Client, NewWorktree
from betcode.v1 import worktree_pb2 as v1
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import in_a_line

_TEXT_OPTIONS = ("branch", "name", "base")


async def create(options: CommandOptions) -> int:
    """Print only the path of the new worktree on stdout, for `cd $(…)`."""
    screen = standard_screen()
    new = _request_from(options)
    async with connected(options, screen) as client:
        made = await _watched(client, options, screen, client.worktrees.watch_create(new))
        if made is None:
            return _detached(screen, "The daemon continues to create the worktree")
        if made.setup == v1.WORKTREE_SETUP_UNTRUSTED:
            made = await _set_up_if_trusted(client, options, screen, made)
            if made is None:
                return _detached(screen, "The worktree exists, and the daemon continues its setup")
        elif made.trouble and not options.flag("no_setup"):
            screen.note(made.trouble)
        facts: dict[str, object] = {"worktree": info_json(made)}
        if options.flag("switch"):
            answer = await switched(client, options, made.id)
            print_session(screen, answer)
            facts |= switched_json(answer)
    if options.as_json:
        screen.json(facts, indent=2)
    else:
        screen.line(made.path)
    return ExitCode.OK


def _request_from(options: CommandOptions) -> NewWorktree:
    for name in _TEXT_OPTIONS:
        if options.has(name) and not options.text(name):
            flag = "BRANCH" if name == "branch" else f"--{name}"
            raise CommandFailed(f"{flag} is empty: give a value, or omit it", ExitCode.INVALID_ARGUMENTS)
    if options.text("base") and not options.flag("new"):
        raise CommandFailed("--base requires --new", ExitCode.INVALID_ARGUMENTS)
    return NewWorktree(
        repo_path=working_directory(options),
        branch=as_utf8("branch", options.text("branch")),
        name=as_utf8("name", options.text("name")),
        path=path_of(options),
        create_branch=options.flag("new"),
        base=as_utf8("base", options.text("base")),
        roll_back=options.flag("roll_back"),
        skip_setup=options.flag("no_setup"),
    )


def as_utf8(what: str, text: str) -> str:
    """Return the text. Raises CommandFailed if it is not valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CommandFailed(f"The {what} is not valid UTF-8", ExitCode.INVALID_ARGUMENTS) from None
    return text


def path_of(options: CommandOptions) -> str:
    """Return the given path, relative to the current directory; empty if none was given."""
    text = as_utf8("path", options.text("path"))
    if options.has("path") and not text:
        raise CommandFailed("--path is empty: give a value, or omit it", ExitCode.INVALID_ARGUMENTS)
    if not text or (options.paths.remote is not None and Path(text).is_absolute()):
        return text
    try:
        return os.path.normpath(Path.cwd() / Path(text).expanduser())
    except (OSError, RuntimeError) as trouble:  # the current directory is gone, or there is no such user
        raise CommandFailed(f"--path cannot be used: {trouble}", ExitCode.INVALID_ARGUMENTS) from trouble


async def set_up(options: CommandOptions) -> int:
    """Run the setup again, or print the output of the last one."""
    return await (_show_output if options.flag("show") else _set_up)(options)


async def _set_up(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        worktree = await find_worktree(client, options, options.text("name"))
        done = await _watched(client, options, screen, client.worktrees.set_up(worktree.id))
        if done is not None and done.setup == v1.WORKTREE_SETUP_UNTRUSTED:
            done = await _set_up_if_trusted(client, options, screen, done)
    if done is None:
        return _detached(screen, "The daemon continues the setup")
    if options.as_json:
        screen.json({"worktree": info_json(done)}, indent=2)
    elif done.setup == v1.WORKTREE_SETUP_NONE:
        screen.line(f"No setup to run for {in_a_line(done.name)}")
    elif done.setup == v1.WORKTREE_SETUP_DONE:
        screen.line(f"{in_a_line(done.name)} is set up")
    elif done.trouble:
        screen.note(done.trouble)
    return ExitCode.PERMISSION_DENIED if done.setup == v1.WORKTREE_SETUP_UNTRUSTED else ExitCode.OK


async def _watched(
    client: Client, options: CommandOptions, screen: Screen, progress: AsyncGenerator[v1.WorktreeProgress, None]
) -> v1.WorktreeInfo | None:
    """Watch the progress as `watched` does; with --json, return the worktree also after a failed setup."""
    try:
        return await watched(progress, screen)
    except NotSetUp as failed:
        if options.as_json and failed.kept:
            screen.json({"worktree": info_json(await find_worktree(client, options, failed.kept))}, indent=2)
        raise


async def _set_up_if_trusted(
    client: Client, options: CommandOptions, screen: Screen, made: v1.WorktreeInfo
) -> v1.WorktreeInfo | None:
    """Ask whether to trust the setup, and run it; None if the person left meanwhile."""
    if not await confirm_trust(client, options, screen, made):
        return made
    return await _watched(client, options, screen, client.worktrees.set_up(made.id))


async def _show_output(options: CommandOptions) -> int:
    screen = standard_screen()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    async with connected(options, screen) as client:
        worktree = await find_worktree(client, options, options.text("name"))
        async with aclosing(client.worktrees.setup_output(worktree.id)) as pieces:
            async for piece in pieces:
                missing = f"\n… {readable(piece.left_out_bytes)} omitted\n" if piece.left_out_bytes else ""
                if options.as_json:
                    text += missing + decoder.decode(piece.data)
                else:
                    screen.answer(missing + decoder.decode(piece.data))
    if options.as_json:
        screen.json({"worktree": info_json(worktree), "output": text}, indent=2)
    screen.end_answer()
    return ExitCode.OK


def _detached(screen: Screen, what: str) -> int:
    screen.interrupted()
    screen.note(f"{what}. See its state: betcode worktree list")
    return ExitCode.INTERRUPTED
