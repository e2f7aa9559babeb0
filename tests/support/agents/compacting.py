"""How the obedient agent compacts; standard library only.

The message /compact compacts, and 40 tokens are left. A file called `compact` in the working directory directs how:

    wait NAME         goes on when the file NAME appears (or it is interrupted)
    fail REASON       fails, and says why
    decline           does not begin with it (alone)
    deaf              hears no interrupt from here on
    die               exits with 3 in the middle of it
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


class Interrupted(Exception):
    pass


class Compacting(ABC):
    """An agent whose context is counted in tokens and can be shortened."""

    _tokens: int
    _cost: float
    _said: str

    @abstractmethod
    def _write(self, frame: Frame) -> None: ...

    @abstractmethod
    def _lifecycle(self, message: Frame, state: str) -> None: ...

    @abstractmethod
    def _message(self, content: list[Frame]) -> Frame: ...

    @abstractmethod
    def _wait(self, name: str) -> Iterator[str]: ...

    @abstractmethod
    def _go_deaf(self, _: str) -> Iterator[str]: ...

    @abstractmethod
    def _die(self, _: str) -> Iterator[str]: ...

    def _set_tokens(self, number: str) -> Iterator[str]:
        self._tokens = int(number)
        yield number

    def _compact_as_told(self, message: Frame) -> None:
        directions = Path("compact").read_text() if Path("compact").exists() else ""
        if directions == "decline":
            self._lifecycle(message, "cancelled")
            return
        self._lifecycle(message, "started")
        self._write({"type": "system", "subtype": "status", "status": "compacting"})
        trouble = ""
        try:
            for line in directions.splitlines():
                verb, _, rest = line.partition(" ")
                if verb == "fail":
                    trouble = rest
                else:
                    list({"wait": self._wait, "deaf": self._go_deaf, "die": self._die}[verb](rest))
        except Interrupted:
            trouble = "API Error: Request was aborted."
        outcome: Frame = (
            {"compact_result": "failed", "compact_error": trouble} if trouble else {"compact_result": "success"}
        )
        self._write({"type": "system", "subtype": "status", "status": None} | outcome)
        if trouble:
            self._said = f"msg_{uuid.uuid4().hex}"
            block = {"type": "text", "text": trouble}
            source = {"local_command_source": f"<local-command-stderr>{trouble}</local-command-stderr>"}
            self._write({"type": "assistant", "message": self._message([block]), "parent_tool_use_id": None} | source)
        else:
            list(self._compact("manual"))
        self._lifecycle(message, "completed")
        self._write(
            {"type": "result", "subtype": "success", "is_error": False, "stop_reason": None, "num_turns": 0}
            | {"usage": {"input_tokens": 0, "output_tokens": 0}, "total_cost_usd": self._cost, "modelUsage": {}}
            | {"user_message_uuids": [message["uuid"]], "local_command": "compact", "result": trouble}
        )

    def _compact(self, trigger: str) -> Iterator[str]:
        facts = {"trigger": trigger, "pre_tokens": self._tokens + 20, "post_tokens": 40}
        self._write({"type": "system", "subtype": "compact_boundary", "compact_metadata": facts})
        self._tokens = 40
        yield "compacted"
