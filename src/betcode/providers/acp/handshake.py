"""The handshake: initialize the agent, open or resume its session, and configure it.

The journal has the first request before the agent does anything. The request's `_meta` contains the launch parameters,
so that every reader of the journal knows them. Each further step is complete when its response is read.
"""

import json
import re
from collections.abc import Iterator, Sequence

from betcode._version import __version__
from betcode.domain.agents.commands import Errand
from betcode.domain.runs.launch import LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.text import shortened, without_escapes
from betcode.providers.acp import about
from betcode.providers.acp.advice import login_advice, needs_login, ways_in
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import SetupStep, State
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.decoder import plain, read
from betcode.wire.acp.extensions import KEY
from betcode.wire.acp.frames import Choice, ConfigOption, Initialized, Message, Opened, Params, RpcError

PROTOCOL = 1
INITIALIZE = "initialize"
NEW, LOAD, RESUME = "session/new", "session/load", "session/resume"
OPENING = frozenset({NEW, LOAD, RESUME})
SETTING = frozenset({"session/set_mode", "session/set_model", "session/set_config_option"})
_LONGEST = 300
_SHOWN_MODELS = 8
_UNKNOWN = frozenset({-32002, -32602})  # a resource, or a parameter
_NOT_THERE = re.compile(r"not found|unknown|no such|not exist|expired|invalid session", re.IGNORECASE)


def opening(session: NewSession, context: LaunchContext) -> bytes:
    """Encode the first line for the agent: the `initialize` request."""
    plan = session.plan_mode if context.plan_mode is None else context.plan_mode
    known = {
        "cwd": session.working_directory,
        "conversation": context.conversation_id if context.resume else "",
        "planMode": plan,
        "continueTurn": context.continue_turn,
    }
    params = {
        "protocolVersion": PROTOCOL,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "betcode", "title": "betcode", "version": __version__},
        "_meta": {KEY: known},
    }
    return request(INITIALIZE, INITIALIZE, params)


def request(request_id: str, method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode() + b"\n"


# ---------------------------------------------------------------- requests and responses


def on_initialize(params: Params | None, builder: AcpEventBuilder) -> None:
    """Read the launch parameters from the `initialize` request that was written to the agent."""
    state = builder.state
    meta = plain(params.meta) if params else None
    known = meta.get(KEY) if isinstance(meta, dict) else None
    known = known if isinstance(known, dict) else {}
    state.greeted = True
    state.cwd = str(known.get("cwd") or builder.session.working_directory)
    state.resume = bool(known.get("conversation"))
    state.conversation_id = str(known.get("conversation") or "") or state.conversation_id
    state.wants_plan = bool(known.get("planMode", builder.session.plan_mode))
    state.continue_turn = bool(known.get("continueTurn"))


def on_initialized(message: Message, builder: AcpEventBuilder) -> None:
    state = builder.state
    if message.error is not None:
        _fail(builder, message.error, f"{builder.profile.title} rejected the handshake: see its output")
        return
    answer = read(message.result, Initialized) or Initialized()
    if answer.protocol_version != PROTOCOL:
        state.trouble = (
            f"use another version of it: {builder.profile.title} speaks version {answer.protocol_version} of the Agent "
            f"Client Protocol, and betcode version {PROTOCOL}"
            if answer.protocol_version
            else f"check the command: {builder.profile.title} does not report a version of the Agent Client Protocol"
        )
        return
    able = answer.capabilities
    state.understood = True
    state.can_load = able.load_session
    state.can_resume = bytes(able.session.resume) not in (b"", b"null", b"false")
    state.takes_images, state.takes_files = able.prompt.image, able.prompt.embedded_context
    state.logins = ways_in(answer.auth_methods)
    meta = plain(able.meta)
    ours = meta.get(KEY) if isinstance(meta, dict) else None
    state.takes_input = isinstance(ours, dict) and bool(ours.get("takesInput"))


def on_opening(method: str, builder: AcpEventBuilder) -> None:
    """Note that a session is being opened. While the agent loads one, its output repeats the history."""
    builder.state.opening = True
    builder.state.loading = method == LOAD


def on_opened(message: Message, method: str, builder: AcpEventBuilder) -> None:
    state = builder.state
    state.loading = False
    title = builder.profile.title
    if message.error is not None:
        state.is_gone = method != NEW and not needs_login(message.error) and _is_gone(message.error, state)
        if state.is_gone:
            why = f"start a new session (the history here stays): {title} could not resume the conversation"
        elif method != NEW:
            why = f"send the message again, or start a new session: {title} could not resume the conversation"
        else:
            why = f"{title} could not start a session"
        _fail(builder, message.error, why)
        return
    answer = read(message.result, Opened) or Opened()
    if method == NEW and not answer.session_id:
        state.trouble = f"use another version of it: {title} returned no session id"
        return
    if method == NEW:
        if state.served:
            builder.notice(v1.NOTICE_KIND_RUN, f"{title} starts over and does not know the earlier messages")
        state.conversation_id = answer.session_id
        state.began = False
    state.opened = True
    _set_up(answer, builder)
    about.add_changed_session_info(builder)


def on_set(message: Message, builder: AcpEventBuilder) -> None:
    """Complete one setup step."""
    state = builder.state
    step = state.steps.pop(0) if state.steps else None
    if message.error is not None and step is not None:
        value = step.params.get("modeId") or step.params.get("modelId") or step.params.get("value")
        _fail(builder, message.error, f"choose another value than {value!r}: {builder.profile.title} rejected it")
    elif step is not None and step.method == "session/set_mode":
        about.on_mode(step.params["modeId"], builder)
    elif step is not None and step.name == about.MODEL:
        state.model = step.params.get("modelId") or step.params.get("value") or state.model
        about.add_changed_session_info(builder)


def _fail(builder: AcpEventBuilder, error: RpcError, what: str) -> None:
    data = plain(error.data)
    details = data.get("details") or data.get("message") if isinstance(data, dict) else data
    reason = shortened(" ".join(without_escapes(f"{error.message} {details or ''}").split()), _LONGEST)
    reason = f"its error: {reason}" if reason else "it gave no reason"
    builder.state.trouble = login_advice(builder) if needs_login(error) else f"{what} ({reason})"


def _is_gone(error: RpcError, state: State) -> bool:
    """Whether the agent does not know the conversation. Before its first turn ended, every error counts as that."""
    reason = f"{error.message} {plain(error.data) or ''}"
    return not state.served or error.code in _UNKNOWN or _NOT_THERE.search(reason) is not None


# ---------------------------------------------------------------- mode and model


def _set_up(answer: Opened, builder: AcpEventBuilder) -> None:
    """Plan the steps that set the mode and the model, from the choices that the agent offers."""
    state, profile = builder.state, builder.profile
    options = answer.config_options or []
    about.on_options(options, builder)
    if answer.models is not None:
        state.model = answer.models.current or state.model
    if answer.modes is not None:
        about.on_mode(answer.modes.current, builder)
    steps: list[SetupStep | str] = []
    mode = builder.mode or profile.mode
    if state.wants_plan:
        steps.append(_mode_step("plan", profile.plan_mode, answer, profile))
        is_apart = isinstance(steps[0], SetupStep) and steps[0].params.get("configId") not in (None, about.MODE)
        mode = mode if is_apart else ""
    if mode:
        steps.append(_mode_step(about.MODE, mode, answer, profile))
    if builder.session.model and profile.sets_model:
        steps.append(_model_step(builder.session.model, answer, profile))
    for step in steps:
        if isinstance(step, str):
            state.trouble = state.trouble or step
        elif step.method:
            state.steps.append(step)


def _mode_step(name: str, mode: str, answer: Opened, profile: Profile) -> SetupStep | str:
    """Return a step (without a method if the mode is already set), or the reason why the mode cannot be set."""
    if answer.modes is not None and any(each.id == mode for each in answer.modes.available):
        return SetupStep(name, "" if answer.modes.current == mode else "session/set_mode", {"modeId": mode})
    for option in answer.config_options or ():
        if option.category in (about.MODE, "collaboration_mode") and mode in _values(option.options or ()):
            is_set = plain(option.current_value) == mode
            return _option_step(name, option, mode, is_set=is_set)
    offered = [each.id for each in answer.modes.available] if answer.modes else []
    return f"choose another mode: {profile.title} has no mode {mode!r}: it has {', '.join(offered) or 'none'}"


def _model_step(model: str, answer: Opened, profile: Profile) -> SetupStep | str:
    for option in answer.config_options or ():
        if option.category == about.MODEL:
            found = _match(model, list(_values(option.options or ())))
            if found:
                return _option_step(about.MODEL, option, found, is_set=plain(option.current_value) == found)
    offered = [each.id for each in answer.models.available] if answer.models else []
    if (found := _match(model, offered)) and answer.models is not None:
        method = "" if answer.models.current == found else "session/set_model"
        return SetupStep(about.MODEL, method, {"modelId": found})
    for option in answer.config_options or ():
        if option.category == about.MODEL:
            offered += _values(option.options or ())
    if not offered:
        return f"start a session that names no model: {profile.title} does not support choosing a model"
    more = f" and {len(offered) - _SHOWN_MODELS} more" if len(offered) > _SHOWN_MODELS else ""
    shown = ", ".join(offered[:_SHOWN_MODELS])
    return f"choose another model: {profile.title} has no model {model!r}: it has {shown}{more}"


def _option_step(name: str, option: ConfigOption, value: str, *, is_set: bool) -> SetupStep:
    method = "" if is_set else "session/set_config_option"
    return SetupStep(name, method, {"configId": option.id, "value": value})


def _values(options: Sequence[Choice]) -> Iterator[str]:
    for each in options:
        if each.value:
            yield each.value
        yield from _values(each.options or ())


def _match(wanted: str, offered: Sequence[str]) -> str:
    """Return the offered model of that name. Its provider's prefix may be omitted if the name is unique."""
    if wanted in offered:
        return wanted
    matches = [each for each in offered if each.rpartition("/")[2] == wanted]
    return matches[0] if len(matches) == 1 else ""


# ---------------------------------------------------------------- the next request


def next_step(state: State, session: NewSession) -> Errand | None:
    if state.trouble or state.lost or not state.understood:
        return None
    if not state.opening:
        return Errand("open", _open_line(state, session))
    if state.opened and state.steps:
        step = state.steps[0]
        if json.dumps(step.name) in state.asked:
            return None
        params = {"sessionId": state.conversation_id, **step.params}
        return Errand(f"set-{step.name}", request(step.name, step.method, params))
    return None


def _open_line(state: State, session: NewSession) -> bytes:
    ours: dict[str, object] = {"sessionId": session.session_id}
    if session.model:
        ours["model"] = session.model
    if state.continue_turn:
        ours["continueTurn"] = True
    params: dict[str, object] = {"cwd": state.cwd, "mcpServers": [], "_meta": {KEY: ours}}
    if not state.resume:
        return request("open", NEW, params)
    # `session/resume` does not replay the history, so it is preferred if the agent supports it.
    params["sessionId"] = state.conversation_id
    return request("open", RESUME if state.can_resume else LOAD, params)


def is_ready(state: State) -> bool:
    return state.lost or (state.opened and not state.steps and not state.trouble)
