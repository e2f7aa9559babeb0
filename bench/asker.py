"""An agent that asks for a permission again and again, and says when it asked and when it heard the answer.

It speaks the wire of the claude CLI, so that a daemon can be given it for one; standard library only.
"""

import json
import sys
import time
from typing import Any


def say(frame: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(frame, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def ask(number: int, heard_ns: int) -> None:
    given = {"command": f"make {number}", "heard_ns": str(heard_ns), "asked_ns": str(time.monotonic_ns())}
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": given, "tool_use_id": f"toolu_{number}"}
    say({"type": "control_request", "request_id": f"{time.time_ns()}-{number}", "request": request})


def main() -> None:
    """A message says how often to ask: one after the other, or, as `at once NUMBER`, without waiting for answers."""
    number, heard_ns, message = 0, 0, ""
    for line in sys.stdin:
        now_ns = time.monotonic_ns()
        frame = json.loads(line)
        if frame["type"] == "user":
            how, _, times = frame["message"]["content"].rpartition(" ")
            number, heard_ns, message = int(times), 0, frame["uuid"]
            say({"type": "system", "subtype": "init", "session_id": "bench", "model": "bench", "tools": ["Bash"]})
            while how and number > 1:
                ask(number, heard_ns)
                number -= 1
        elif frame["type"] == "control_response":
            number, heard_ns = number - 1, now_ns
        if number >= 0 and message:
            ask(number, heard_ns)  # once more at the end, to say when the last answer was heard


if __name__ == "__main__":
    main()
