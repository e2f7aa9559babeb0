"""State that a dialogue reports about its agent: pauses of the model's API, failures, tool calls to be screened."""

from dataclasses import dataclass
from enum import StrEnum


class PauseKind(StrEnum):
    LIMIT = "limit"  # of use: too many requests, or an account's limit, which is reset at some time
    OVERLOAD = "overload"
    API = "api"  # other errors that the agent tries to get over


@dataclass(frozen=True, slots=True)
class ApiPause:
    """The model's API does not serve the agent."""

    kind: PauseKind
    until_ns: int = 0  # wall time of the next try, or of the limit's reset; 0: unknown


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an agent that is restarted the same way would fail the same way."""

    advice: str  # the remedy
    has_conversation: bool | None = (
        None  # whether the agent reports that the conversation's id is already in use, or unknown
    )
    did_nothing: bool = False  # it did not even begin with a turn


class CallScreening(StrEnum):
    """Whether an agent submits every use of a tool before its own rules decide."""

    NO = "no"
    TOLD = "told"  # requested, and not confirmed yet
    YES = "yes"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A use of a tool that waits to be screened, before the agent's own rules are asked."""

    request_id: str
    tool_name: str
    input_json: str  # empty: it could not be read
    cwd: str = ""
    tool_use_id: str = ""
