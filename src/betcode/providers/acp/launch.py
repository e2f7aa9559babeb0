"""Selects the program to launch: from the profile, from the settings, or from a client."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from betcode.domain.agents.project_files import ProjectFiles
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.acp.handshake import opening
from betcode.providers.acp.profile import Profile

_MOST_WORDS = 100
_LONGEST_WORD = 4096


def command_in(text: str) -> tuple[str, ...]:
    """Parse a client's own command. Raises InvalidRequest.

    A client that may start a session may run programs as this user: it chooses the environment and the agent's prompts.
    So no command is forbidden. But its effect must be clear, so it has no shell, and its program no relative path.
    """
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InvalidRequest('The command must be a JSON list of strings, such as ["goose", "acp"]', command=text[:200])
    if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD or "\0" in word for word in words) or not words[0]:
        raise InvalidRequest(f"The command must have at most {_MOST_WORDS} words of at most {_LONGEST_WORD} characters")
    return tuple(words)


def check_program(program: str) -> None:
    """Raises InvalidRequest if the program is a relative path, whose meaning depends on the directory."""
    if "/" in program and not program.startswith("/"):
        raise InvalidRequest(
            f"The program {program!r} is a relative path: give an absolute one, or a name that is found on the PATH",
            program=program[:200],
        )


def find_program(argv: Sequence[str], profile: Profile, environment: Mapping[str, str]) -> str:
    """Return the program's path. Raises AgentUnavailable, with advice."""
    program = argv[0]
    if program.startswith("/"):
        if Path(program).is_file() and os.access(program, os.X_OK):
            return program
        raise AgentUnavailable(f"{program} is not an executable file: see agents.acp.commands", path=program)
    found = shutil.which(program, path=environment.get("PATH")) or shutil.which(program)
    if found is None:
        how = f"install it ({profile.install}), or " if profile.install else ""
        raise AgentUnavailable(
            f"{program} was not found on the PATH: {how}set its path in agents.acp.commands", program=program
        )
    return found


def launch(argv: Sequence[str], profile: Profile, session: NewSession, context: LaunchContext) -> Launch:
    """Raises AgentUnavailable."""
    program = find_program(argv, profile, context.environment)
    env = {**profile.env, **context.environment}  # the session's environment overrides the profile
    if context.project_files is ProjectFiles.IGNORED:
        env |= profile.env_without_project
    elif context.project_files is ProjectFiles.TRUSTED:
        env |= profile.env_trusted
    directory = Path(session.working_directory)
    return Launch((program, *argv[1:]), env, directory, opening(session, context))
