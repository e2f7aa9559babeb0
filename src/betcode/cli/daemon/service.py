"""`betcode daemon install` and `uninstall`: run the daemon as a user service of systemd or launchd."""

import getpass
import os
import sys
from collections.abc import Callable
from contextlib import suppress

import anyio

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.daemon.control import daemon_argv
from betcode.cli.daemon.service_managers import Launchd, Manager, Systemd, is_lingering, turn_on_lingering
from betcode.cli.daemon.service_units import Service
from betcode.cli.daemon.stop import leave_agents_and_stop
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import Keyboard, can_ask
from betcode.util.atomic_files import replace_file

_BEFORE = ".before"
_UNIT_MODE = 0o666  # less the umask


def install(options: CommandOptions) -> int:
    """Write the unit, start the daemon under it, and warn if agents end at logout. A failure removes the unit."""
    refuse_remote(options.paths)
    screen = standard_screen()
    manager = _manager(options)
    text = manager.text(_service(options))
    if options.flag("print"):
        if options.as_json:
            screen.json({"unit": str(manager.path), "text": text.decode()})
            return ExitCode.OK
        screen.answer(text.decode())
        screen.end_answer()
        return ExitCode.OK
    _refuse_foreign(manager)
    manager.refuse_where_it_is_not()
    changed = _installed(manager, text, lambda: leave_agents_and_stop(options, screen))
    if options.as_json:
        facts: dict[str, object] = {"installed": True, "changed": changed, "unit": str(manager.path)}
        if isinstance(manager, Systemd):
            facts["linger"] = _offer_lingering(options, screen)
        screen.json(facts)
        return ExitCode.OK
    screen.line(f"Installed the service: {manager.path}")
    if isinstance(manager, Systemd):
        _offer_lingering(options, screen)
    return ExitCode.OK


def uninstall(options: CommandOptions) -> int:
    """Stop the daemon of the service and remove the unit. Working agents continue until the next daemon adopts them."""
    refuse_remote(options.paths)
    screen = standard_screen()
    manager = _manager(options)
    was_there = manager.path.exists()
    _refuse_foreign(manager)
    if was_there:
        manager.refuse_where_it_is_not()
        manager.stop()
        manager.path.unlink()
        manager.reload()
    if options.as_json:
        screen.json({"uninstalled": was_there, "unit": str(manager.path)})
    elif was_there:
        screen.line(
            f"Removed the service: {manager.path}. Working agents continue, and the next daemon takes them over"
        )
    else:
        screen.line(f"No such service: {manager.path}")
    return ExitCode.OK


def _manager(options: CommandOptions) -> Manager:
    name = options.text("name")
    return Launchd(name) if sys.platform == "darwin" else Systemd(name)


def _refuse_foreign(manager: Manager) -> None:
    """Raises CommandFailed if another program's service has this name; it is neither replaced nor stopped."""
    try:
        is_ours = b"betcode" in manager.path.read_bytes()
    except FileNotFoundError:
        return
    if not is_ours:
        raise CommandFailed(
            f"{manager.path} is not a betcode service: choose another --name", ExitCode.INVALID_ARGUMENTS
        )


def _service(options: CommandOptions) -> Service:
    paths = options.paths
    probe = [sys.executable, "-P", "-m", "betcode", "daemon", "health", "--socket", str(paths.socket)]
    return Service(
        start=daemon_argv(options),
        probe=probe,
        state_dir=paths.state_dir,
        path=os.environ.get("PATH", os.defpath),
        log=paths.daemon_log,
    )


def _installed(manager: Manager, text: bytes, make_way: Callable[[], None]) -> bool:
    """Install and start the service; return whether anything changed."""
    before = manager.path.read_bytes() if manager.path.exists() else None
    try:
        manager.path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None and before != text:
            edited = manager.path.with_name(manager.path.name + _BEFORE)  # someone may have edited it
            replace_file(edited, before, mode=_UNIT_MODE)
        replace_file(manager.path, text, mode=_UNIT_MODE)
        manager.reload()
        if before != text or not manager.is_running():
            make_way()
            manager.start()
    except (OSError, CommandFailed) as error:
        _roll_back(manager, before)
        if isinstance(error, CommandFailed):
            raise
        raise CommandFailed(f"The service cannot be installed: {error}", ExitCode.INTERNAL) from error
    return before != text


def _roll_back(manager: Manager, before: bytes | None) -> None:
    with suppress(OSError, CommandFailed):
        if before is None:
            manager.stop()
            manager.path.unlink(missing_ok=True)
        else:
            replace_file(manager.path, before, mode=_UNIT_MODE)
        manager.reload()


def _offer_lingering(options: CommandOptions, screen: Screen) -> bool:
    """Offer to enable lingering; return whether agents outlive the last logout."""
    user = getpass.getuser()
    if is_lingering(user):
        return True
    is_confirmed = options.flag("linger") or (
        not options.as_json and can_ask() and anyio.run(_confirm_lingering, screen)
    )
    if not is_confirmed:
        screen.note(
            "When you log out, systemd ends the daemon and all agents. To keep them running: "
            f"loginctl enable-linger {user}"
        )
        return False
    turn_on_lingering(user)
    screen.note("Lingering is enabled: the daemon and its agents keep running when you log out")
    return True


async def _confirm_lingering(screen: Screen) -> bool:
    keyboard = Keyboard()
    keyboard.discard_input()
    screen.ask("When you log out, systemd ends the daemon and all agents. Keep them running? [Y/n] ")
    answer = await keyboard.line()
    return answer is not None and answer.strip().lower() in ("", "y", "yes")
