"""`python -m betcode.agents.openclaw.start`: starts a gateway that outlives its caller.

The bridge does not do this, because everything that it starts ends with it. If several processes try at once, one of
them starts the gateway. The gateway has its own process session, a pid file and a log file.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from betcode.agents.openclaw.paths import GatewayPaths, make_token, own_config, users_config
from betcode.holder.platform import start_time
from betcode.proc import run_blocking
from betcode.util.atomic_files import replace_file

NODE_NEEDED = (24, 16)
_NODE_WITHIN_S = 10.0
_WATCHED_S = 5.0  # one that cannot start reports it soon
_LOOK_EVERY_S = 0.1
_LOG_LIMIT_BYTES = 20_000_000
_LAST_WORDS = 500
# No announcement on the network, no copy of a shell's environment, no second process, no channels to people.
_QUIET = {
    "OPENCLAW_DISABLE_BONJOUR": "1",
    "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
    "OPENCLAW_NO_RESPAWN": "1",
    "OPENCLAW_SKIP_CHANNELS": "1",
}


class CannotStart(Exception):
    """In a sentence, with what to do."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="betcode.agents.openclaw.start", description="Start an OpenClaw gateway.")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--program", required=True, help="openclaw, as an absolute path")
    parser.add_argument("--port", type=int, required=True)
    said = parser.parse_args(arguments)
    places = GatewayPaths(said.state_dir)
    try:
        ensure(places, said.program, said.port, os.environ)
    except (CannotStart, OSError) as trouble:
        with suppress(OSError):
            replace_file(places.trouble, f"{trouble}\n".encode(), durable=False)
        sys.stderr.write(f"{trouble}\n")
        return 1
    return 0


def ensure(places: GatewayPaths, program: str, port: int, environ: Mapping[str, str]) -> None:
    """Return when a gateway runs there, or is starting. Raises CannotStart, OSError."""
    places.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    places.root.chmod(0o700)
    with _alone(places.lock):
        if _answers(port) or _is_alive(places.pid):
            return
        places.trouble.unlink(missing_ok=True)
        _check_node(program, environ)
        _prepare(places, port, environ)
        process = _spawn(places, program, environ)
        known = {"pid": process.pid, "started": start_time(process.pid), "port": port}
        replace_file(places.pid, f"{json.dumps(known)}\n".encode(), durable=False)
    _watch(process, places)


def _prepare(places: GatewayPaths, port: int, environ: Mapping[str, str]) -> None:
    """Its configuration is written once: a person may change it. Raises CannotStart, OSError."""
    for directory in (places.state, places.workspace):
        directory.mkdir(mode=0o700, exist_ok=True)
    try:
        token = make_token(places.token)
    except ValueError as wrong:
        raise CannotStart(f"The gateway's token cannot be read: {wrong}; remove the file") from None
    if not places.config.exists():
        replace_file(places.config, own_config(port, token, places, users_config(environ)).encode(), durable=False)


def _spawn(places: GatewayPaths, program: str, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    if places.log.exists() and places.log.stat().st_size > _LOG_LIMIT_BYTES:
        places.log.unlink()
    env = {name: value for name, value in environ.items() if not name.startswith(("BETCODE_", "OBEY_", "OPENCLAW_"))}
    env |= {**_QUIET, "OPENCLAW_CONFIG_PATH": str(places.config), "OPENCLAW_STATE_DIR": str(places.state)}
    log = os.open(places.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            [*_scope(environ), program, "gateway"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            cwd=places.workspace,
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(f"{program} cannot be started: {error}") from None
    finally:
        os.close(log)


def _scope(environ: Mapping[str, str]) -> list[str]:
    """Return a command that gives the gateway its own scope, because systemd ends all processes of a stopped unit."""
    if "INVOCATION_ID" not in environ or not (systemd_run := shutil.which("systemd-run")):
        return []
    return [systemd_run, "--user", "--scope", "--quiet", "--collect", "--"]


def _watch(process: "subprocess.Popen[bytes]", places: GatewayPaths) -> None:
    """Raises CannotStart: it has ended already."""
    until = time.monotonic() + _WATCHED_S
    while time.monotonic() < until:
        if process.poll() is not None:
            places.pid.unlink(missing_ok=True)
            words = places.log.read_text(errors="replace")[-_LAST_WORDS:].strip()
            raise CannotStart(f"The OpenClaw gateway exited at once (code {process.returncode}): {words}")
        time.sleep(_LOOK_EVERY_S)


def _check_node(program: str, environ: Mapping[str, str]) -> None:
    """Raises CannotStart where the program would run with a Node that is too old for it."""
    with suppress(OSError):
        with Path(program).open("rb") as file:
            first = file.readline(200)
        if b"node" not in first:
            return
    node = shutil.which("node", path=environ.get("PATH"))
    if node is None:
        raise CannotStart("OpenClaw needs Node, which is not on the PATH: install Node 24.16 or later")
    said = run_blocking([node, "--version"], os.environ, limit_s=_NODE_WITHIN_S).out.decode(errors="replace")
    found = re.match(r"v(\d+)\.(\d+)", said)
    if found and (int(found[1]), int(found[2])) < NODE_NEEDED:
        raise CannotStart(f"OpenClaw needs Node 24.16 or later, but {node} is {said.strip()}: install a newer version")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_alive(path: Path) -> bool:
    """Return whether the gateway that was started last still runs, though it does not listen yet."""
    try:
        known = json.loads(path.read_text())
        return bool(known["pid"]) and start_time(known["pid"]) == known["started"]  # not another of that number
    except (OSError, ValueError, KeyError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
