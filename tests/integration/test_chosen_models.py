"""The model and the effort that a person chose by a command apply to the next agent process of the session, too."""

import json
from pathlib import Path

import pytest

from betcode.domain.runs.crash_policy import CrashPolicy
from support.daemon.session import is_idle, settled_text
from support.engine.engine import engine

pytestmark = pytest.mark.anyio


def confirmed(command: str, value: str, text: str) -> str:
    """The answer of Claude Code to a command that took effect."""
    message = {"id": f"msg_{command}", "content": [{"type": "text", "text": text}]}
    frame = {"type": "assistant", "message": message, "local_command_run": {"command": command, "args": value}}
    return json.dumps(frame) + "\n"


async def test_the_next_process_is_started_with_the_model_and_effort_that_a_person_chose(tmp_path: Path) -> None:
    async with engine(tmp_path, CrashPolicy(first_wait_s=0.01)) as here:
        answers = [
            confirmed("model", "haiku", "Set model to `Haiku`"),
            confirmed("effort", "high", "Set effort level to high"),
        ]
        (here.work / "answers").write_text("".join(answers))
        await here.say("argv\nplay answers")
        assert "--model=" not in settled_text(await here.until(is_idle))
        await here.say("stumble once\nargv")
        text = settled_text(await here.until(is_idle))
        assert here.agents == 2
        assert '"--model=haiku"' in text
        assert '"--effort=high"' in text
        await here.supervisor.close(here.session)
