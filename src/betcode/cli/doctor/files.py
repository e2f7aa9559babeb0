"""Check files: directories, socket, disk, clock, database, certificate and token."""

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from betcode.cli.doctor.finding import Finding, Situation, note, ok, trouble
from betcode.config.certificate import valid_until
from betcode.config.lockfile import is_held, read_holder
from betcode.config.token_file import NAME, WrongToken, read_token
from betcode.holder.platform import process

_MIB = 1024 * 1024
_LEAST_FREE = 100 * _MIB
_LITTLE_FREE = 1024 * _MIB
_AHEAD_S = 120.0  # clocks of file servers differ a little
_SOON = timedelta(days=14)
_DATABASE_BOUND_S = 3.0


def directories(situation: Situation) -> Iterator[Finding]:
    """Check that the directories belong to the user, and that nobody else can write to them."""
    paths = situation.paths
    for check, path in (("config directory", paths.config_dir), ("state directory", paths.state_dir)):
        try:
            facts = path.stat()
        except FileNotFoundError:
            yield ok(check, f"{path} does not exist yet")
            continue
        except OSError as error:
            yield trouble(check, f"{path} cannot be checked: {error.strerror}", "make it a directory that you own")
            continue
        if not stat.S_ISDIR(facts.st_mode):
            yield trouble(check, f"{path} is not a directory", "move it away")
        elif facts.st_uid != os.getuid():
            yield trouble(check, f"{path} belongs to another user", f"sudo chown -R {os.getuid()} {path}")
        elif facts.st_mode & 0o022:
            yield trouble(check, f"others can write to {path}", f"chmod go-w {path}")
        elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            yield trouble(check, f"{path} cannot be written", f"chmod u+rwx {path}")
        else:
            yield ok(check, str(path))


def database_mode(situation: Situation) -> Iterator[Finding]:
    path = situation.paths.database
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & 0o077:
        yield trouble("database", f"others can read {path}", f"chmod 600 {path}")


def sockets(situation: Situation) -> Iterator[Finding]:
    for path in (situation.paths.socket, situation.paths.ticket_socket):
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        if not stat.S_ISSOCK(mode):
            yield trouble(
                "socket", f"{path} is not a socket", f"move it away, or choose another with --socket: mv {path} …"
            )
        elif mode & 0o077:
            yield trouble("socket", f"others can connect to {path}", f"chmod 600 {path}")
        elif not is_held(situation.paths.lock):
            yield note("socket", f"{path} is a leftover of a killed daemon", "nothing: the next daemon replaces it")
        else:
            yield ok("socket", str(path))


def lock(situation: Situation) -> Iterator[Finding]:
    """Check the lock. The kernel releases it with its process; an unknown holder blocks the daemon."""
    path = situation.paths.lock
    if not is_held(path):
        return
    holder = read_holder(path)
    found = process(holder.pid) if holder is not None else None
    if holder is None:
        yield note(
            "lock", f"{path} is held by a daemon that has not written its pid", "wait a moment and run doctor again"
        )
    elif found is None or found.zombie:
        yield trouble(
            "lock",
            f"{path} names process {holder.pid}, which has ended, but another process holds it",
            f"find it and end it: fuser -v {path}",
        )


def disk(situation: Situation) -> Iterator[Finding]:
    path = situation.paths.state_dir
    while not path.exists() and path != path.parent:
        path = path.parent
    free = shutil.disk_usage(path).free
    words = f"{free // _MIB} MB free for the state directory ({path})"
    if free < _LEAST_FREE:
        yield trouble(
            "disk",
            words,
            "free disk space: `betcode db usage` shows the sizes, `betcode db prune` deletes old sessions",
        )
    elif free < _LITTLE_FREE:
        yield note("disk", words, "free disk space soon")
    else:
        yield ok("disk", words)


def clock(situation: Situation) -> Iterator[Finding]:
    """Check the clock. After it was set back, new events look older than old ones, and prompts expire too late."""
    paths = situation.paths
    ahead = []
    for path in (
        paths.database,
        paths.database.with_name(paths.database.name + "-wal"),
        paths.daemon_log,
        paths.lock,
    ):
        try:
            late_s = path.stat().st_mtime - situation.now
        except OSError:
            continue
        if late_s > _AHEAD_S:
            ahead.append((late_s, path))
    if ahead:
        late_s, path = max(ahead)
        yield trouble(
            "clock", f"{path} was written {late_s / 60:.0f} min in the future", "set the clock, e.g. with NTP"
        )
    else:
        yield ok("clock", datetime.fromtimestamp(situation.now, UTC).isoformat(timespec="seconds"))


def database(situation: Situation) -> Iterator[Finding]:
    path = situation.paths.database
    if not path.exists():
        yield ok("database", f"{path} does not exist yet")
        return
    from betcode.domain.errors import DatabaseUnusable
    from betcode.storage.sqlite.probe import glance

    try:
        seen = glance(path, within_s=_DATABASE_BOUND_S)
    except DatabaseUnusable as unusable:
        yield trouble("database", unusable.message, "make a copy, then: betcode db repair")
        return
    if seen.problems:
        yield trouble("database", f"{path} is damaged: {seen.problems[0]}", "make a copy, then: betcode db repair")
    elif not seen.is_complete:
        yield note("database", f"{path} is too large to check within {_DATABASE_BOUND_S:.0f} s", "betcode db check")
    else:
        yield ok("database", f"{path} is intact")
    late_s = seen.newest_ns / 1e9 - situation.now
    if late_s > _AHEAD_S:
        yield trouble(
            "clock", f"the newest session is {late_s / 60:.0f} min in the future", "set the clock, e.g. with NTP"
        )


def listening(situation: Situation) -> Iterator[Finding]:
    """Check the files for TCP, if the daemon listens on it."""
    listen = situation.settings.listen
    if not listen.address:
        return
    path = Path(listen.token_file or situation.paths.config_dir / NAME)
    if path.exists():
        try:
            read_token(path)
            yield ok("token", str(path))
        except WrongToken as wrong:
            yield trouble("token", str(wrong), "fix the file, then: betcode daemon restart")
    if listen.tls_cert:
        yield _certificate(Path(listen.tls_cert), datetime.fromtimestamp(situation.now, UTC))
    if listen.tls_key:
        yield from _key(Path(listen.tls_key))


def _certificate(path: Path, now: datetime) -> Finding:
    try:
        until = valid_until(path)
    except (OSError, ValueError, LookupError) as error:
        return trouble("certificate", f"{path} cannot be read: {error}", "set daemon.tls_cert to a PEM certificate")
    words = f"{path} is valid until {until.date().isoformat()}"
    mend = "renew it, then: betcode daemon restart"
    if until <= now:
        return trouble("certificate", f"{path} expired on {until.date().isoformat()}", mend)
    return note("certificate", words, mend) if until - now < _SOON else ok("certificate", words)


def _key(path: Path) -> Iterator[Finding]:
    """Check who can read the key: they can impersonate this daemon. The daemon checks at start that it fits."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        yield trouble("key", f"{path} cannot be read: {error.strerror}", "set daemon.tls_key to the certificate's key")
        return
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        yield trouble("key", f"others can read {path}", f"chmod o= {path}")
