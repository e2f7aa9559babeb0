"""An agent that starts tools in sessions of their own; `exit` leaves them running, `stay` waits with them.

Each tool holds the agent's stdout and ignores SIGTERM, as the agent that stays does; some fork on before they rest.
When it says `set up`, nobody is there but the agent and the tools that have told their pids.
"""

import os
import signal
import sys
import threading


def tool(forks: int) -> None:
    """A process that left the agent's session, orphaned by a double fork."""
    if between := os.fork():
        os.waitpid(between, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if forks:
        tool(forks - 1)
    os.write(1, b"tool %d\n" % os.getpid())
    threading.Event().wait()


if sys.argv[1] == "stay":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    tool(2)
os.write(1, b"set up\n")
if sys.argv[1] == "stay":
    threading.Event().wait()
sys.stdin.readline()  # told to go by any input
