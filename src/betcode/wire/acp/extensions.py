"""What our own agent programs and the provider say to each other beyond the Agent Client Protocol.

The protocol lets every object have `_meta`, and leaves methods that begin with an underscore to whoever needs them.
Ours are under `betcode` in the one, and begin with `_betcode/` in the other. Another agent may say the same and is
understood; one that says none of it is an agent like any other. Names are in camel case, as the protocol's own are.

In `_meta.betcode`:

- `agentCapabilities._meta` of the answer to `initialize`: `AgentSays`, what the program can do beyond the protocol;
- `params._meta` of `session/new`, `session/load` and `session/resume`: `sessionId`, our own; `model`; `continueTurn`,
  go on with the turn that was broken off, if there is one;
- `params._meta` of `session/prompt`: `messageId`, the same when a message is sent again;
- `_meta` of `tool_call`, `tool_call_update` and of the `toolCall` in a request: `toolName`, a name that the rules know
  ("Bash", "Read", "Edit", "Write", "Grep"); then `rawInput` is shown and screened as it is;
- `result._meta` of the answer to `session/request_permission`: `message`, what the person said; `input`, what the tool
  is to be used with instead;
- `error.data` of a failed `session/prompt` (there `betcode` stands without `_meta`): `Trouble`.

Notifications of the program, each with `sessionId`: `_betcode/turn`, `_betcode/usage`, `_betcode/pause`,
`_betcode/compaction`, `_betcode/notice`. The functions below make their parameters. With the protocol's package:
`await client.ext_notification(TURN[1:], turn_started(session_id))`; the package puts the underscore in front itself.

A turn is what one `session/prompt` begins and its answer ends. One that the program begins by itself (a gateway goes on
with what was broken off, a schedule comes due) is said with `_betcode/turn`, "started" before its first update and
"ended" behind its last. Within it updates and requests for permission are as in any turn, `session/cancel` cancels it
too, and no prompt comes until it has ended; a prompt that crossed its beginning on the way is the program's to queue.
"""

from typing import Literal, NotRequired, TypedDict

KEY = "betcode"  # in `_meta`, and in the `data` of an error
TURN = "_betcode/turn"
USAGE = "_betcode/usage"
PAUSE = "_betcode/pause"
COMPACTION = "_betcode/compaction"
NOTICE = "_betcode/notice"

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]
TroubleKind = Literal["error", "rate_limit", "overload", "auth", "gone", "context"]


class AgentSays(TypedDict, total=False):
    """The features of a program; each is false if not sent.

    Whether messages are sent again and turns continued is decided before any program runs, by its provider's table; a
    program sends the same here, for readers of the journal.
    """

    recognisesRepeats: bool  # a prompt with the messageId of an earlier one is not executed twice
    continuesTurn: bool  # it continues an interrupted turn if `continueTurn` is set, or by itself
    takesInput: bool  # an answer's `input` replaces the tool's input


class Trouble(TypedDict):
    """Why a turn failed. `auth` and `gone` would fail again: the engine does not restart the program for them."""

    kind: TroubleKind
    message: NotRequired[str]  # instead of the error's own
    advice: NotRequired[str]  # the remedy
    status: NotRequired[int]  # of HTTP
    retryAtMs: NotRequired[int]  # wall time


class TurnNews(TypedDict):
    sessionId: str
    state: Literal["started", "ended"]
    stopReason: NotRequired[StopReason]
    error: NotRequired[Trouble]  # with stopReason "error"


class UsageNews(TypedDict):
    """The usage of one call of the model: sent whenever one ends, and added up for the turn."""

    sessionId: str
    inputTokens: int  # without those read from a cache or written to it
    outputTokens: int
    cachedReadTokens: NotRequired[int]
    cachedWriteTokens: NotRequired[int]
    costUsd: NotRequired[float]
    model: NotRequired[str]
    contextTokens: NotRequired[int]  # the total input of the model in this call
    contextSize: NotRequired[int]  # how much it can read


class PauseNews(TypedDict):
    """The model's API does not serve the program, which tries again; an empty kind: it serves it again."""

    sessionId: str
    kind: Literal["", "limit", "overload", "api"]
    untilMs: NotRequired[int]  # wall time of the next try


class CompactionNews(TypedDict):
    sessionId: str
    trigger: Literal["auto", "manual"]
    tokensBefore: int
    tokensAfter: int


class NoticeNews(TypedDict):
    sessionId: str
    message: str


def turn_started(session_id: str) -> TurnNews:
    return {"sessionId": session_id, "state": "started"}


def turn_ended(session_id: str, stop_reason: StopReason, error: Trouble | None = None) -> TurnNews:
    news: TurnNews = {"sessionId": session_id, "state": "ended", "stopReason": stop_reason}
    if error is not None:
        news["error"] = error
    return news
