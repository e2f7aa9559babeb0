"""A busy agent: numbered lines without end, echoes of what it reads, until it reads `stop`."""

import sys
import threading

stop = threading.Event()
write_lock = threading.Lock()


def listen() -> None:
    for line in sys.stdin:
        with write_lock:
            sys.stdout.write(f"got {line}")
            sys.stdout.flush()
        if line == "stop\n":
            stop.set()


threading.Thread(target=listen, daemon=True).start()
number = 0
while not stop.wait(0.001):
    with write_lock:
        sys.stdout.write("".join(f"tick {each} {'.' * (each % 300)}\n" for each in range(number, number + 20)))
        sys.stdout.flush()
    number += 20
print("last", number, flush=True)
