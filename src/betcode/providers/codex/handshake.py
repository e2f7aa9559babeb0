"""Starts, resumes or forks the thread of a session, and tracks its settings."""

import hashlib
import json

from betcode.domain.values.text import shortened, without_escapes
from betcode.providers.codex import frames, turns
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.launch import ASKS_ALWAYS, ASKS_IN_PARTS, THREAD_ID
from betcode.providers.codex.state import Counted
from betcode.v1 import agent_pb2 as v1

_IN_PARTS = f"{THREAD_ID}-in-parts"  # asked for again, in words that later versions know
_LONGEST = 1000
_MOST_MODELS = 20
_COMMANDS = (
    ("plan", "make a plan first, and change nothing", "<what to plan>"),
    ("implement", "leave plan mode and carry the plan out", "[what to mind]"),
)


def is_thread(rpc_id: int | str | None) -> bool:
    return rpc_id in (THREAD_ID, _IN_PARTS)


def asked(frame: frames.RpcMessage, line: bytes, builder: CodexEventBuilder) -> None:
    """We asked for the thread."""
    state = builder.state
    state.errands.pop(str(frame.id), None)
    state.asked = line.decode(errors="replace")
    state.plan_mode = state.plan_mode or (builder.session.plan_mode and not state.began)
    state.has_planned = state.has_planned or state.plan_mode
    if frame.method == "thread/start":
        state.total = Counted()
    elif frame.method == "thread/fork":
        state.total = None  # what the other session had used counts there


def on_thread(frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
    """There it is, or Codex will not have it; what nobody asked for changes nothing."""
    if not builder.state.asked:
        return
    if (refusal := frame.refusal) is not None:
        if frame.id == THREAD_ID and ASKS_ALWAYS in refusal.message and "rollout" not in refusal.message:
            _ask_in_parts(builder)
        else:
            _give_up(refusal.message or "refused", builder)
        return
    answer = frames.read(frame.result, frames.ThreadAnswer)
    if answer is None or not answer.thread.id:
        _give_up("its answer cannot be read", builder)
    else:
        greet(answer, builder)


def _give_up(why: str, builder: CodexEventBuilder) -> None:
    """Without a thread nothing can be said to this process."""
    asked_for = frames.decode(builder.state.asked.encode())
    method = asked_for.method if isinstance(asked_for, frames.RpcMessage) else ""
    builder.state.refused_thread = f"{method}: {shortened(without_escapes(why), _LONGEST)}"
    builder.state.asked = ""


def greet(answer: frames.ThreadAnswer, builder: CodexEventBuilder) -> None:
    state = builder.state
    state.thread = state.conversation_id = answer.thread.id
    state.model = answer.model or state.model
    state.cwd = answer.cwd or state.cwd
    state.asked = state.refused_thread = ""
    told = hashlib.sha256("\0".join((state.model, state.cwd, *state.models)).encode()).hexdigest()[:16]
    if told != state.info:
        state.info = told
        info = turns.say_info(builder)
        for name, description, hint in _COMMANDS:
            info.commands.add(name=name, description=description, argument_hint=hint)


def on_models(frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
    models = frames.read(frame.result, frames.Models)
    if models is None:
        return
    before = builder.state.models
    builder.state.models = [each.id for each in models.data if each.id and not each.hidden][:_MOST_MODELS]
    if builder.state.thread and builder.state.models != before:
        turns.say_info(builder)


def told_mode(said: frames.RequestParams, builder: CodexEventBuilder) -> None:
    """A turn that is given a mode leaves the thread in it."""
    mode = said.collaboration_mode.mode if said.collaboration_mode is not None else ""
    if not mode:
        return
    state = builder.state
    state.mode = mode
    state.has_planned = state.has_planned or mode == "plan"
    if (mode == "plan") != state.plan_mode:
        state.plan_mode = mode == "plan"
        builder.new_event().plan_mode.active = state.plan_mode


def _ask_in_parts(builder: CodexEventBuilder) -> None:
    """This Codex no longer knows how to ask always: each kind of question by itself, and nothing writable without."""
    line = json.loads(builder.state.asked)
    line["id"] = _IN_PARTS
    line["params"] |= {"approvalPolicy": ASKS_IN_PARTS, "sandbox": "read-only"}
    builder.state.errands[_IN_PARTS] = json.dumps(line) + "\n"
    builder.notice(
        v1.NOTICE_KIND_RUN,
        "This version of Codex does not ask about commands that only read: it runs them in a read-only sandbox",
    )
