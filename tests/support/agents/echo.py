"""An agent that says back what it reads, and says so when there is no more."""

import sys

print("ready", flush=True)
for line in sys.stdin:
    print("got", line.rstrip("\n"), flush=True)
print("eof", flush=True)
