"""Builds the command line of Codex and its initial requests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from betcode._version import __version__
from betcode.domain.agents.project_files import ProjectFiles
from betcode.domain.agents.provider_config import provider_config
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.providers.codex.environment import codex_home, policy

INITIALIZE_ID = "betcode-initialize"
THREAD_ID = "betcode-thread"
MODELS_ID = "betcode-models"
POINT_SEPARATOR = "@"  # between a thread and the turn after which it can be forked
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
# Whatever a command or a patch does, we are asked: our rules decide, or people. As long as Codex knows the word.
ASKS_ALWAYS = "untrusted"
ASKS_IN_PARTS = {
    "granular": {
        "sandbox_approval": True,
        "rules": True,
        "mcp_elicitations": True,
        "request_permissions": True,
        "skill_approval": True,
    }
}
_DEFAULT_SANDBOX = "workspace-write"
# Plugins ask a public host at every start; and a connection that is refused would be tried for ever.
_ARGUMENTS = (
    "app-server",
    "--disable",
    "plugins",
    "--disable",
    "apps",
    "--disable",
    "unbounded_connection_retries",
)
_MODELS = 100
_SANDBOX_HELPER = "codex-linux-sandbox"
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def launch(binary: Path, session: NewSession, context: LaunchContext) -> Launch:
    directory = Path(session.working_directory)
    environment = dict(context.environment)
    links: dict[str, Path] = {}
    if lacks_sandbox_helper(environment):
        links[_SANDBOX_HELPER] = binary.absolute()
        environment["PATH"] = f"{environment.get('PATH') or _DEFAULT_PATH}:{context.run_dir}"
    return Launch((str(binary), *_ARGUMENTS), environment, directory, _opening(session, context), links=links)


def lacks_sandbox_helper(environment: Mapping[str, str]) -> bool:
    """Whether Codex makes no `codex-linux-sandbox` link of its own, because its home is in the temporary directory.

    Where bubblewrap is installed, Codex then has it execute that name from PATH, and every command would fail.
    """
    temporary = Path(environment.get("TMPDIR") or "/tmp")  # noqa: S108 (the same default as Codex)
    return codex_home(environment).is_relative_to(temporary)


def request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"id": request_id, "method": method, "params": params}).encode() + b"\n"


def _opening(session: NewSession, context: LaunchContext) -> bytes:
    """All of the greeting at once: Codex reads it in order, and needs nobody who lives to go on with it."""
    client = {"name": "betcode", "title": "betcode", "version": __version__}
    hello = {"clientInfo": client, "capabilities": {"experimentalApi": True}}
    return b"".join(
        (
            request(INITIALIZE_ID, "initialize", hello),
            b'{"method":"initialized"}\n',
            _thread(session, context),
            request(MODELS_ID, "model/list", {"limit": _MODELS}),
        )
    )


def _thread(session: NewSession, context: LaunchContext) -> bytes:
    """Go on with it, branch it off a turn of another one, or begin it."""
    params = _terms(session, context)
    if context.resume:
        # Without turns: all that was ever said would come back in one line.
        return request(
            THREAD_ID, "thread/resume", {"threadId": context.conversation_id, "excludeTurns": True, **params}
        )
    if context.fork_point:
        other, _, turn = context.fork_point.partition(POINT_SEPARATOR)
        params = {"threadId": other, "lastTurnId": turn, "excludeTurns": True, **params}
        return request(THREAD_ID, "thread/fork", params)
    return request(THREAD_ID, "thread/start", params)


def _terms(session: NewSession, context: LaunchContext) -> dict[str, Any]:
    own = provider_config(session)
    config: dict[str, Any] = {
        "shell_environment_policy": policy(context.environment, Path(session.working_directory)),
    }
    # Always said: without it Codex would write the directory into the user's configuration as trusted.
    level = "untrusted" if context.project_files is ProjectFiles.IGNORED else "trusted"
    directories = (session.working_directory, *context.project_directories)
    config["projects"] = {each: {"trust_level": level} for each in directories}
    if effort := own.get("effort"):
        config["model_reasoning_effort"] = effort
    terms: dict[str, Any] = {
        "cwd": session.working_directory,
        "approvalPolicy": ASKS_ALWAYS,
        "sandbox": own.get("sandbox") or _DEFAULT_SANDBOX,
        "config": config,
    }
    return {**terms, "model": session.model} if session.model else terms
