"""An agent that writes to a file what befalls it: EOF on stdin or SIGTERM."""

import os
import signal
import sys
from types import FrameType

fate = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def on_term(_number: int, _frame: FrameType | None) -> None:
    os.write(fate, b"SIGTERM\n")
    os._exit(143)


signal.signal(signal.SIGTERM, on_term)
print("ready", flush=True)
while os.read(0, 4096):
    pass
os.write(fate, b"EOF\n")
