"""The wall clock of a round's daemon, which can be moved while it runs; see moved_clock/sitecustomize.py."""

import struct
from pathlib import Path

from support.paths import SUPPORT

_HOOK = SUPPORT / "daemon" / "moved_clock"


def clock_environment(root: Path) -> dict[str, str]:
    """What a daemon must be started with."""
    file = root / "clock"
    file.write_bytes(struct.pack("<q", 0))
    return {"PYTHONPATH": str(_HOOK), "BETCODE_TEST_CLOCK": str(file)}


def move_clock(root: Path, seconds: int) -> None:
    """So much further on, or back."""
    with (root / "clock").open("r+b") as file:
        (shift,) = struct.unpack("<q", file.read(8))
        file.seek(0)
        file.write(struct.pack("<q", shift + seconds * 1_000_000_000))
