"""An agent that will not go: it ignores EOF and, when asked to (argument `term`), SIGTERM."""

import os
import signal
import sys
import threading

if "term" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    print("got", line.rstrip("\n"), flush=True)
print("eof", flush=True)
threading.Event().wait()
