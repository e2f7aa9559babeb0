"""Child processes with limits: argument lists, a time limit, an output limit, and an end for the whole process group.

`child` starts one process, for callers that read its output while it runs. `run` and `run_blocking` run a program to
its end. Detached processes (the daemon, holders, gateways) and interactive programs are not started here.
"""

from betcode.proc.child import BoundedOutput, Child, ending, next_piece, start
from betcode.proc.run import RunResult, run
from betcode.proc.run_blocking import run_blocking

__all__ = ["BoundedOutput", "Child", "RunResult", "ending", "next_piece", "run", "run_blocking", "start"]
