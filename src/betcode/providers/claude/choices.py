"""The model and the effort that a person chose with `/model` and `/effort`.

Claude Code remembers them only in the process, so a process that resumes the conversation gets them as flags.
"""

from collections.abc import Iterator, Mapping

from betcode.providers.claude.state import State
from betcode.wire.frames import Assistant

_CONFIRMED = {"model": "Set model to", "effort": "Set effort level to"}  # how the answer begins when it took effect
_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
_USUAL = "default"  # the model that a process has without a flag
_LONGEST = 200


def note(frame: Assistant, state: State) -> None:
    """Remember a choice that the agent has confirmed."""
    ran = frame.local_command_run
    if ran is None or ran.command not in _CONFIRMED:
        return
    content = frame.message.content
    answer = content if isinstance(content, str) else "".join(block.text for block in content)
    value = ran.args.strip()
    if answer.startswith(_CONFIRMED[ran.command]) and value.isprintable() and 0 < len(value) <= _LONGEST:
        state.chosen[ran.command] = value


def flags(chosen: Mapping[str, str], session_model: str) -> Iterator[str]:
    """What a new process is told; a choice overrides what the session was made with."""
    model = chosen.get("model", session_model)
    if model and model != _USUAL:
        yield f"--model={model}"
    if (effort := chosen.get("effort")) in _EFFORTS:
        yield f"--effort={effort}"
