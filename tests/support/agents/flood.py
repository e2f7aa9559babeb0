"""An agent that writes numbered lines as fast as it can: how many, and how long each."""

import sys

count, size = int(sys.argv[1]), int(sys.argv[2])
filler = "x" * size
for start in range(0, count, 500):
    sys.stdout.write("".join(f"{number} {filler}\n" for number in range(start, min(count, start + 500))))
sys.stdout.flush()
