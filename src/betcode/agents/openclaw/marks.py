"""Stores how much of each session was shown, so that a later bridge continues there."""

import contextlib
import hashlib
import json
from pathlib import Path

from betcode.util.atomic_files import replace_file


class Mark:
    """The number of the last stored message of one session that was sent to a client."""

    def __init__(self, directory: Path | None, key: str) -> None:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        self._path = directory / f"{name}.json" if directory is not None else None
        self.seq = self._read()

    @property
    def is_known(self) -> bool:
        return self.seq >= 0

    def move(self, seq: int) -> None:
        """Advance it; a failure to write is ignored: something may be sent twice."""
        if seq <= self.seq:
            return
        self.seq = seq
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, json.dumps({"seq": seq}).encode(), durable=False)

    def _read(self) -> int:
        try:
            seq = json.loads(self._path.read_text()).get("seq") if self._path is not None else None
        except (OSError, ValueError, AttributeError):
            return -1
        return seq if isinstance(seq, int) and seq >= 0 else -1
