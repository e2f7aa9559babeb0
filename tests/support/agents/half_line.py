"""An agent that dies in the middle of a line."""

import os
import signal

os.write(2, b"a complaint\n")
os.write(1, b"whole\nhalf")
os.kill(os.getpid(), signal.SIGKILL)
