"""An agent that has a tool, orphaned and in a session of its own, call at its own holder's socket."""

import os
import socket
import sys

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(sys.argv[1])
            os.write(1, b"answer " + caller.recv(65536))
    os._exit(0)
os.wait()
sys.stdin.readline()
