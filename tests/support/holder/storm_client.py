"""A client of a holder, as a process that can be killed at any moment: it repeats inputs, listens, and prints rings."""

import os
import socket
import sys
import zlib


def frame(verb: str, argument: str, payload: bytes = b"") -> bytes:
    prefix = f"{verb} 1 {argument}".encode()
    return b"%b %d %08x\n%b\n" % (prefix, len(payload), zlib.crc32(payload, zlib.crc32(prefix)), payload)


os.chdir(sys.argv[1])
while True:
    caller = socket.socket(socket.AF_UNIX)
    try:
        caller.connect("socket")
        beyond = 0
        while data := caller.recv(65536):
            ring = data.rpartition(b"grew ")[2].split(b"\n")[0]
            beyond = int(ring) if ring.isdigit() else beyond
            print("heard", len(data), flush=True)
            # Number 0 is never new: it is answered and goes nowhere.
            caller.sendall(frame("input", "0", b"a repeat\n") + frame("listen", str(beyond)))
    except OSError:
        pass
    print("thrown out", flush=True)
    caller.close()
