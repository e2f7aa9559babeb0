"""The state that a dialogue reports to the engine, as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from betcode.domain.agents.agent_state import ApiPause, CallScreening, Failure, ToolCall
from betcode.domain.agents.commands import Errand, RefuseRequest

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueView:
    """What a dialogue knows after a record. The defaults fit an agent that lacks the feature."""

    # ------------------------------------------------------------ the conversation

    is_ready: bool  # the handshake is over, and a message can be sent
    has_spoken: bool  # the agent has sent something by itself, not only answers to our commands
    conversation_id: str
    conversation_began: bool
    plan_mode: bool  # the agent only plans; a process that resumes must be set to it
    # Settings such as `model` that a person chose by a command of the agent; a new process must get them.
    chosen: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    # ------------------------------------------------------------ open inputs

    turn_open: bool  # a turn runs, or a message that the agent was given has not been answered yet
    answering: tuple[str, ...]  # the messages that the open turn has begun to answer; others may be queued in the agent
    withdrawing: frozenset[str] = frozenset()  # messages to be withdrawn; the agent has not confirmed it yet
    open_requests: tuple[str, ...]  # the ids of prompts that the agent waits for
    running_tools: tuple[str, ...]  # names of tools that may have begun and have not ended; not those that wait
    holds: tuple[str, ...] = ()  # what else keeps the agent from being idle: background tasks, scheduled jobs

    # ------------------------------------------------------------ what is to be sent

    errands: tuple[Errand, ...] = ()  # lines of the dialogue itself, in order, each until its record is read
    refusals: tuple[RefuseRequest, ...] = ()  # of unsupported requests, each until its record is read
    call_screening: CallScreening = CallScreening.NO
    calls: tuple[ToolCall, ...] = ()  # tool calls that wait to be screened, each until its answer is read

    # ------------------------------------------------------------ what went wrong

    api_pause: ApiPause | None  # the model's API delays the agent, or has been refusing it for some time
    failure: Failure | None  # why an agent with this last output would fail repeatedly; None: try again
    last_errors: tuple[str, ...]  # the newest lines of the agent's stderr, a few and cut short
