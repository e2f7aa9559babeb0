"""An agent that does not read its stdin until SIGUSR1 comes, but goes on talking; then it reads all there is."""

import hashlib
import os
import signal
import sys
from types import FrameType

listens = False


def on_usr1(_number: int, _frame: FrameType | None) -> None:
    global listens
    listens = True


signal.signal(signal.SIGUSR1, on_usr1)
expected = int(sys.argv[1])
print("ready", flush=True)
while not listens:
    signal.pause()
print("listening", flush=True)
digest, size = hashlib.sha256(), 0
while size < expected:
    piece = os.read(0, 1 << 20)
    digest.update(piece)
    size += len(piece)
print("read", size, digest.hexdigest(), flush=True)
