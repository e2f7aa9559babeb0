"""Detect that sequence numbers may have been lost: after a power cut, or with a database restored from a backup."""

import ctypes
import ctypes.util
import logging
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

import apsw

from betcode.storage.sqlite.database import Durability, hold_durability
from betcode.util.atomic_files import replace_file
from betcode.util.state_files import UnusableEntry, read_file, set_aside

logger = logging.getLogger(__name__)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TOKEN = "incarnation"  # noqa: S105 - a name in the table `meta`

_BESIDE_LIMIT_BYTES = 4096

POWER_CUT = "power cut"
RESTORED_BACKUP = "restored backup"


@dataclass(frozen=True, slots=True)
class Epoch:
    number: int
    reason: str


def kernel_boot_id() -> str:
    """What changes with every start of the machine; empty where nothing tells."""
    if sys.platform == "darwin":
        return _darwin_boot_id()
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def stored(db: apsw.Connection) -> Epoch:
    """The epoch that the database is in, for an opening that cannot write yet."""
    meta = dict(db.execute("SELECT name, value FROM meta"))
    return Epoch(int(meta.get("epoch", "0")), meta.get("epoch_reason", ""))


def begin(db: apsw.Connection, path: Path, *, durability: Durability, boot_id: str) -> Epoch:
    """The epoch of this opening. From here on the database counts as open, on the disk itself."""
    meta = dict(db.execute("SELECT name, value FROM meta"))
    token = meta.get(_TOKEN, "")
    restored = bool(token) and token not in _tokens_beside(path)
    same_boot = bool(boot_id) and boot_id == meta.get("boot_id")
    power_cut = bool(token) and not same_boot and meta.get("clean") == "0" and meta.get("durability") == "normal"
    epoch = Epoch(int(meta.get("epoch", "0")), meta.get("epoch_reason", ""))
    if power_cut or restored:
        epoch = Epoch(epoch.number + 1, POWER_CUT if power_cut else RESTORED_BACKUP)
    values = {"boot_id": boot_id, "durability": durability, "clean": "0"}
    values |= {"epoch": str(epoch.number), "epoch_reason": epoch.reason}
    # A mismatch must stay visible until the new epoch is in the database.
    _change_token(db, path, token, values, announce=not restored)
    hold_durability(db, path, durability)
    return epoch


def end(db: apsw.Connection, path: Path) -> None:
    """Everything is on the disk itself, and the database says so."""
    hold_durability(db, path, "full")
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    token = str(db.execute("SELECT value FROM meta WHERE name = ?", (_TOKEN,)).get)
    _change_token(db, path, token, {"clean": "1"}, announce=True)


def _change_token(db: apsw.Connection, path: Path, old: str, values: dict[str, str], *, announce: bool) -> None:
    """Store `values` and a new token, also in the token file, so that a kill is not mistaken for a restored backup."""
    new = secrets.token_hex(16)
    if announce:
        _write_beside(path, old, new)
    hold_durability(db, path, "full")
    db.execute("BEGIN IMMEDIATE")
    try:
        db.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", {**values, _TOKEN: new}.items())
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    _write_beside(path, new)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".incarnation")


def _tokens_beside(path: Path) -> list[str]:
    """The tokens in the file; none if it cannot be used, which begins an epoch: numbers may have been lost."""
    try:
        return read_file(_beside(path), _BESIDE_LIMIT_BYTES).decode("ascii", "replace").split()
    except FileNotFoundError:
        return []
    except UnusableEntry as error:
        logger.warning("the database counts as a restored backup: %s", error)
        return []


def _write_beside(path: Path, *tokens: str) -> None:
    beside, data = _beside(path), "\n".join(tokens).encode("ascii")
    try:
        replace_file(beside, data)
    except IsADirectoryError:
        logger.warning("`%s` is a directory, and is now `%s`", beside.name, set_aside(beside))
        replace_file(beside, data)


def _darwin_boot_id() -> str:
    libc = ctypes.CDLL(ctypes.util.find_library("c"))
    buffer = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(buffer))
    if libc.sysctlbyname(b"kern.bootsessionuuid", buffer, ctypes.byref(size), None, 0) != 0:
        return ""
    return buffer.value.decode("ascii")
