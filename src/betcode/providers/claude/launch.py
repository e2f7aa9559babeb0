"""Builds the command line and the environment of Claude Code."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from betcode.domain.agents.project_files import ProjectFiles
from betcode.domain.errors import AgentUnavailable
from betcode.domain.runs.launch import Forbidden, Launch, LaunchContext, OnlyRules
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.providers.claude import choices
from betcode.providers.claude.calls import registration
from betcode.providers.claude.slash_commands import greeting
from betcode.providers.claude.turns import POINT_SEPARATOR

PROGRAM = "claude"

# The prompt is never an argument: in this mode the agent would ignore it. Without --verbose it refuses to start.
_ALWAYS = (
    "-p",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
    "--include-partial-messages",
    "--verbose",
    "--forward-subagent-text",
)
_SETTINGS_FILE = "settings.json"
_ARGUMENT_LIMIT_BYTES = 100_000  # Linux takes 128 KiB for one argument
_NOT_INHERITED = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"})  # they tell an agent that it runs inside another


def find_binary(binary: Path | None, environment: Mapping[str, str]) -> Path:
    """Raises AgentUnavailable, with what to do."""
    if binary is not None:
        if not (binary.is_file() and os.access(binary, os.X_OK)):
            raise AgentUnavailable(
                f"{binary} is not an executable file: give the path of claude with --claude-bin",
                path=str(binary),
            )
        return binary
    found = shutil.which(PROGRAM, path=environment.get("PATH")) or shutil.which(PROGRAM)
    if found is None:
        raise AgentUnavailable(
            "Claude Code is not installed: install it (https://code.claude.com), or give its path with --claude-bin "
            "or BETCODE_CLAUDE_BIN"
        )
    return Path(found)


def _conversation(context: LaunchContext) -> list[str]:
    """Go on with it, branch it off another one's message, or begin it."""
    if context.resume:
        return [f"--resume={context.conversation_id}"]
    begin = [f"--session-id={context.conversation_id}"]
    if context.fork_point:
        other, _, message = context.fork_point.partition(POINT_SEPARATOR)
        return [f"--resume={other}", "--fork-session", f"--resume-session-at={message}", *begin]
    return begin


def _settings(forbidden: Forbidden) -> bytes:
    """Rules that the agent holds by itself, also while nobody here answers it; empty where there are none."""
    lists = {"deny": forbidden.deny, "ask": forbidden.ask}
    rules = {name: list(dict.fromkeys(rules)) for name, rules in lists.items() if rules}
    return json.dumps({"permissions": rules}).encode() if rules else b""


def _only(rules: OnlyRules, allowed_tools: Iterable[str]) -> str:
    """Settings of an administrator's rank: with them no rule of the agent's files and of `--allowedTools` counts.

    Every other setting in these files applies as before; `allowed-tools` of commands and skills do not.
    """
    lists = {"allow": (*rules.allow, *allowed_tools), "ask": rules.ask, "deny": rules.deny}
    unique = {name: list(dict.fromkeys(texts)) for name, texts in lists.items()}
    return json.dumps({"allowManagedPermissionRulesOnly": True, "permissions": unique})


def _rules(session: NewSession, context: LaunchContext) -> tuple[list[str], dict[str, bytes]]:
    """Arguments that pass the permission rules, and the files that they name."""
    only = None if context.only_rules is None else _only(context.only_rules, session.allowed_tools)
    if only is not None and len(only.encode()) <= _ARGUMENT_LIMIT_BYTES:
        return [f"--managed-settings={only}"], {}
    settings = _settings(context.forbidden)
    if len(settings) > _ARGUMENT_LIMIT_BYTES:
        return [f"--settings={context.run_dir / _SETTINGS_FILE}"], {_SETTINGS_FILE: settings}
    # An argument cannot be changed under the agent.
    return ([f"--settings={settings.decode()}"] if settings else []), {}


def launch(binary: Path, session: NewSession, context: LaunchContext) -> Launch:
    """Values that came from outside follow `=`, so that none of them can be read as a flag."""
    argv = [str(binary), *_ALWAYS]
    argv += _conversation(context)
    argv += choices.flags(context.chosen, session.model)
    if session.allowed_tools:
        argv.append(f"--allowedTools={','.join(session.allowed_tools)}")
    if session.plan_mode if context.plan_mode is None else context.plan_mode:
        argv.append("--permission-mode=plan")
    if context.project_files is ProjectFiles.IGNORED:
        argv.append("--setting-sources=user")  # neither settings, MCP servers, commands, skills nor memory of a project
    arguments, files = _rules(session, context)
    argv += arguments
    env = {name: value for name, value in context.environment.items() if name not in _NOT_INHERITED}
    env["DISABLE_AUTOUPDATER"] = "1"  # a new version under a running session would be another agent
    if context.project_files is ProjectFiles.IGNORED:
        env["CLAUDE_CODE_DISABLE_CRON"] = "1"  # .claude/scheduled_tasks.json is no setting: it would run all the same
    if context.continue_turn:
        env["CLAUDE_CODE_RESUME_INTERRUPTED_TURN"] = "1"
    # A turn that is continued begins at once, so that what is to hold for it has to be there before.
    opening = (registration if context.screens_calls else greeting)(time_ordered_uuid())
    return Launch(tuple(argv), env, Path(session.working_directory), opening, files)
