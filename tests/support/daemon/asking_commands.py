"""Commands whose agents ask for what the prompt says (agents/asker.py), and what those agents are told."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.daemon.process import agent_program
from support.processes.command import Shell, shell

Heard = Callable[[], list[dict[str, Any]]]


def two_questions(*, several: bool) -> str:
    """What makes an agent ask two questions at once; of the first's choices several may be taken."""
    options = [{"label": label, "description": ""} for label in ("red", "blue")]
    asked = (("Which colour?", "Colour", several), ("Why?", "Reason", False))
    questions = [
        {"question": text, "header": header, "multiSelect": many, "options": options} for text, header, many in asked
    ]
    return json.dumps({"questions": questions})


@contextmanager
def asking_shell(root: Path) -> Iterator[Shell]:
    """One state directory for commands, whose agents ask."""
    with shell(root) as commands:
        commands.environment["BETCODE_CLAUDE_BIN"] = str(agent_program(root, "asker.py"))
        yield commands


def heard_from_now_on(here: Shell) -> Heard:
    """What the agents are told after this, answer by answer."""
    path = here.work / "answers.jsonl"
    path.unlink(missing_ok=True)
    return lambda: [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def parked(here: Shell, prompt: str) -> tuple[str, str]:
    """The session and the id of the prompt that a run leaves open."""
    done = here.run("run", "--on-ask", "park", "--json", prompt)
    assert done.returncode == 3, done.stderr
    result = json.loads(done.stdout)
    return result["session_id"], result["parked"][0]


def rest(here: Shell, session: str) -> str:
    """What a session says until it is done."""
    return here.run("session", "follow", session, "--until-idle").stdout
