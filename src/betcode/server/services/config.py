"""ConfigService: convert, call, convert back."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from betcode.config.edit.file_edit import ChangedMeanwhile, NotChanged, change, refuse_wrong, setting_of, state_of
from betcode.config.file_reader import WrongFile, read_file, read_text
from betcode.config.load import Loaded, WrongSetting, combined, from_environment, from_flags, project_files
from betcode.config.origins import OF_PROJECTS, Layer
from betcode.config.paths import Paths
from betcode.config.reload import SettingsReloader
from betcode.config.schema import SETTINGS
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import Conflict, InvalidRequest
from betcode.engine import BoundedIOPool, Engine
from betcode.rules import Action, Rule
from betcode.server.auth.gate import Gate
from betcode.server.convert.config_views import add_entries, changed_values, message_of
from betcode.server.rpc import Caller
from betcode.v1 import config_pb2 as v1

logger = logging.getLogger(__name__)

_SHOWN_PROBLEMS = 100
_CHANGES_LIMIT = 100  # of one request
_VALUE_LIMIT = 64 * 1024
_WRITTEN_WITHIN_S = 10.0
_STATUSES: Mapping[str, "v1.McpServerStatus.ValueType"] = {
    "connected": v1.MCP_SERVER_STATUS_RUNNING,
    "pending": v1.MCP_SERVER_STATUS_STARTING,
    "disabled": v1.MCP_SERVER_STATUS_STOPPED,
    "failed": v1.MCP_SERVER_STATUS_ERROR,
    "needs-auth": v1.MCP_SERVER_STATUS_ERROR,
}
_FILTERS: Mapping[str, "v1.McpServerStatus.ValueType"] = {
    "running": v1.MCP_SERVER_STATUS_RUNNING,
    "stopped": v1.MCP_SERVER_STATUS_STOPPED,
    "starting": v1.MCP_SERVER_STATUS_STARTING,
    "error": v1.MCP_SERVER_STATUS_ERROR,
}
_ACTIONS = {
    Action.ALLOW: v1.PERMISSION_ACTION_ALLOW,
    Action.ASK: v1.PERMISSION_ACTION_ASK,
    Action.DENY: v1.PERMISSION_ACTION_DENY,
}
_PRIORITIES = {Action.DENY: 300, Action.ASK: 200, Action.ALLOW: 100}  # a higher layer overrides a lower one


class ConfigCalls:
    """The calls about settings."""

    def __init__(self, engine: Engine, gate: Gate, reloader: SettingsReloader, paths: Paths) -> None:
        self._engine = engine
        self._gate = gate
        self._reloader = reloader
        self._paths = paths
        self._file_io = BoundedIOPool()
        self._writes = BoundedIOPool(_WRITTEN_WITHIN_S)
        self._one_at_a_time = anyio.Lock()

    async def get_settings(self, _: Caller, request: v1.GetSettingsRequest) -> v1.Settings:
        return await self._settings(request.scope, request.working_directory)

    async def update_settings(self, caller: Caller, request: v1.UpdateSettingsRequest) -> v1.Settings:
        """Change settings. For people only: an agent must not change the rules that apply to it."""
        _refuse_too_much(request)
        path, layer = self._file_of(request.scope or "user", request.working_directory)
        client = await self._gate.admit(caller)
        shown = await self._settings("", request.working_directory)
        values = changed_values(shown, request)
        for key, text in request.set.items():
            values[key] = _json_value(key, text)
        above = (
            [from_environment(self._reloader.environ), from_flags(self._reloader.flags)] if layer is Layer.USER else []
        )

        def write() -> bool:
            return change(path, layer, values, request.unset, if_unchanged=request.if_unchanged, above=above)

        try:
            for key in request.unset:
                setting_of(key)
            async with self._one_at_a_time:  # many at once would wait for each other, and not all long enough
                written = await self._writes.run(str(path.parent), write)
        except ChangedMeanwhile as changed:
            raise Conflict(str(changed), path=str(path)) from None
        except (WrongSetting, NotChanged) as wrong:
            raise InvalidRequest(str(wrong)) from None
        except FilesystemTimeout as no_answer:
            raise InvalidRequest(
                f"It is unknown whether {path} was changed ({no_answer}): check the file, then retry"
            ) from None
        if written:
            keys = ", ".join((*values, *request.unset))
            logger.info("%s was changed by %s: %s", path, client.client_id, keys)
        return await self._settings(request.scope, request.working_directory)

    async def _settings(self, scope: str, directory: str) -> v1.Settings:
        path, layer = self._file_of(scope or "user", directory if scope else "")
        project = _directory(directory) if directory else None
        # The version is read before the values that are returned. A caller that changes what it has seen may be refused
        # once too often, but never overwrites a change that it has not seen.
        try:
            state, trouble = await self._file_io.run(directory, partial(_state, path))
            await self._reloader.catch_up()
            read = partial(self._read, path, layer, project, bool(scope))
            message = await self._file_io.run(directory, read)
        except FilesystemTimeout as no_answer:
            raise InvalidRequest(f"The settings of {directory or path} cannot be read: {no_answer}") from None
        message.etag = state
        message.problem = message.problem or trouble
        return message

    def _read(self, path: Path, layer: Layer, project: Path | None, alone: bool) -> v1.Settings:
        reloader = self._reloader
        if alone:
            loaded = combined([read_file(path, layer)])
            problem = loaded.faults[0].sentence if loaded.faults else ""
            keys = list(loaded.origins)
        else:
            loaded, problem = _with_project(reloader.read, project)
            problem = reloader.problem or problem
            keys = list(SETTINGS)
        message = message_of(loaded.settings, self._paths)
        add_entries(message, loaded, keys, reloader.later)
        message.problem = problem
        message.warnings.extend(loaded.warnings[:_SHOWN_PROBLEMS])
        return message

    def _file_of(self, scope: str, directory: str) -> tuple[Path, Layer]:
        if scope == "user":
            return self._reloader.path, Layer.USER
        if scope not in (Layer.PROJECT, Layer.LOCAL):
            raise InvalidRequest(f'Unknown scope {scope[:80]!r}: use "user", "project" or "local"')
        return _directory(directory) / OF_PROJECTS[Layer(scope)], Layer(scope)

    async def list_mcp_servers(self, _: Caller, request: v1.ListMcpServersRequest) -> v1.ListMcpServersResponse:
        status_filter_value = _FILTERS.get(request.status_filter.lower())
        if request.status_filter and status_filter_value is None:
            raise InvalidRequest(f"{request.status_filter[:80]!r} is not a status: use {', '.join(_FILTERS)}")
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        response = v1.ListMcpServersResponse()
        for server in await self._engine.mcp_servers(session):
            status = _STATUSES.get(server.status, v1.MCP_SERVER_STATUS_UNSPECIFIED)
            if status_filter_value not in (None, status):
                continue
            view = response.servers.add(name=server.name, status=status, tools=server.tools, session_id=server.session)
            view.reported_at.FromNanoseconds(server.at_ns)
            if status in (v1.MCP_SERVER_STATUS_ERROR, v1.MCP_SERVER_STATUS_UNSPECIFIED):
                view.error_message = server.status
        return response

    async def get_permissions(self, _: Caller, request: v1.GetPermissionsRequest) -> v1.PermissionRules:
        if request.session_id and request.working_directory:
            raise InvalidRequest("Give either a session or a directory, not both")
        of_user_only = not request.session_id and not request.working_directory
        if request.session_id:
            new = (await self._engine.row(await self._engine.resolve(request.session_id))).new
            book = await self._engine.policy.rule_book(new.working_directory, new.environment, new.allowed_tools)
        else:
            directory = self._paths.config_dir if of_user_only else _directory(request.working_directory)
            book = await self._engine.policy.rule_book(str(directory))
        rules = [rule for rule in book.lists.rules if not of_user_only or rule.source.layer.value == Layer.USER]
        whole = [rule for rule in rules if rule.specifier is None]
        return v1.PermissionRules(
            rules=[_rule(rule) for rule in rules],
            denied_tools=[rule.tool for rule in whole if rule.action is Action.DENY],
            require_approval=[rule.tool for rule in whole if rule.action is Action.ASK],
            untrusted=[] if of_user_only else [_rule(rule) for rule in book.lists.untrusted],
            problems=[str(problem) for problem in book.lists.problems[:_SHOWN_PROBLEMS]],
        )


def _state(path: Path) -> tuple[str, str]:
    """Return the version of a file, or why it cannot be read."""
    try:
        return state_of(read_text(path)), ""
    except WrongFile as wrong:
        return "", str(wrong)


def _with_project(read: Loaded, project: Path | None) -> tuple[Loaded, str]:
    """Return the settings that apply in a project, and the problems found there."""
    if project is None:
        return read, ""
    files = [
        replace(file, given=tuple(each for each in file.given if each.key not in read.fixed))
        for file in project_files(project)
    ]
    there = combined(files, read.settings)
    origins = {**read.origins, **there.origins}
    problem = there.faults[0].sentence if there.faults else ""
    return Loaded(there.settings, (*read.warnings, *there.warnings), origins), problem


def _refuse_too_much(request: v1.UpdateSettingsRequest) -> None:
    """Each change reads the whole file: thousands would keep everybody else's waiting."""
    if len(request.set) + len(request.unset) > _CHANGES_LIMIT:
        raise InvalidRequest(f"Change at most {_CHANGES_LIMIT} settings at once")
    for key, text in request.set.items():
        if len(text) > _VALUE_LIMIT:
            raise InvalidRequest(f"The value of {key[:80]} is longer than {_VALUE_LIMIT} characters")


def _json_value(key: str, text: str) -> object:
    try:
        setting = setting_of(key)
        value: object = json.loads(text)
        if setting.key == key:
            refuse_wrong(setting, value)
        elif not isinstance(value, bool):
            raise WrongSetting(f"{key} must be true or false")
    except WrongSetting as wrong:
        raise InvalidRequest(str(wrong)) from None
    except (ValueError, RecursionError):
        raise InvalidRequest(f"The value of {key[:80]} is not JSON: a text needs quotes") from None
    return value


def _directory(directory: str) -> Path:
    if not Path(directory).is_absolute() or "\0" in directory:
        raise InvalidRequest("Name the project's directory by its absolute path: give a working_directory")
    return Path(directory)


def _rule(rule: Rule) -> v1.PermissionRule:
    return v1.PermissionRule(
        id=f"{rule.action.value} {rule.text} {rule.source}",
        tool_pattern=rule.tool,
        path_pattern=rule.specifier or "",
        action=_ACTIONS[rule.action],
        priority=_PRIORITIES[rule.action],
        description=f"{rule.action.value} {rule.text}",
        source=str(rule.source),
        layer=rule.source.layer.value,
        text=rule.text,
    )
