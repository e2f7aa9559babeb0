"""A question takes effect exactly once: asked once, resolved once, and the agent hears what the log says."""

from collections import Counter
from collections.abc import Iterator, Sequence

from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import SessionEvidence

_GIVEN_AGAIN = "the answer to "  # what is said with an answer that was given to an agent before


def asked_in(event: v1.AgentEvent) -> str:
    """The prompt that this event shows, if any."""
    if event.HasField("permission_request"):
        return event.permission_request.request_id
    return event.user_question.group_id


def answered_unseen(events: Sequence[v1.AgentEvent]) -> frozenset[str]:
    """The prompts that nobody was shown, since the same was answered before an agent was lost."""
    resolved = (event.permission_resolved for event in events if event.HasField("permission_resolved"))
    return frozenset(told.request_id for told in resolved if told.rule.startswith(_GIVEN_AGAIN))


def judge_prompts(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    asked = Counter(event.permission_request.request_id for event in events if event.HasField("permission_request"))
    groups = (event.user_question for event in events if event.HasField("user_question"))
    asked += Counter(question.group_id for question in groups if question.question_id.endswith("#0"))
    resolved = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    by_id = {told.request_id: told for told in reversed(resolved)}  # the first counts
    heard = {noted.name for noted in one.ledger if noted.what == "heard"}
    unseen = answered_unseen(events)
    heard -= {noted.name for noted in one.ledger if noted.what == "withdrew"}
    for request_id, count in asked.items():
        if count > 1:
            yield f"prompt {request_id} is asked {count} times"
        if request_id not in by_id:
            yield f"prompt {request_id} is open though nothing is left to do"
        if request_id in unseen:
            yield f"prompt {request_id} is shown though it was answered before"
    for request_id, count in Counter(told.request_id for told in resolved).items():
        hows = [told.resolution for told in resolved if told.request_id == request_id]
        if count > 1 and not (hows in _UNUSED_ANSWERS and request_id not in heard):
            yield f"prompt {request_id} is resolved {count} times"
        if request_id not in asked and request_id not in unseen:
            yield f"prompt {request_id} is resolved and was never asked"
    yield from _rows(one, by_id, {told.request_id: told for told in resolved})
    yield from _given_once(resolved, heard)
    yield from _superseded(resolved, asked)
    yield from _answers(one, by_id)
    yield from _effect(one, by_id)


# A cancel may come between an answer and the agent, which then takes its question back; or the agent is lost between
# them, and the one that goes on asks a person again: history has both.
_UNUSED_ANSWERS = (["answered", "withdrawn"], ["answered", "superseded"])


def _rows(
    one: SessionEvidence, first: dict[str, v1.PermissionResolved], last: dict[str, v1.PermissionResolved]
) -> Iterator[str]:
    for request_id, row in one.prompts.items():
        told = {which[request_id].resolution for which in (first, last) if request_id in which} or {"open"}
        if row.state not in told:
            yield f"prompt {request_id} is told to be {' and '.join(sorted(told))}, and is stored as {row.state}"


def _given_once(resolved: Sequence[v1.PermissionResolved], heard: set[str]) -> Iterator[str]:
    """An answer that was kept reaches one agent, and only where none had heard it."""
    sources = [told.rule.removeprefix(_GIVEN_AGAIN) for told in resolved if told.rule.startswith(_GIVEN_AGAIN)]
    for request_id, count in Counter(sources).items():
        if count > 1:
            yield f"the answer to {request_id} is given {count} times"
        if request_id in heard:
            yield f"the answer to {request_id} is given again though an agent has heard it"


def _superseded(resolved: Sequence[v1.PermissionResolved], asked: Counter[str]) -> Iterator[str]:
    for told in resolved:
        if told.resolution == "superseded" and told.superseded_by not in asked:
            yield f"prompt {told.request_id} is superseded by {told.superseded_by or 'nothing'}, which nobody was asked"


def _answers(one: SessionEvidence, resolved: dict[str, v1.PermissionResolved]) -> Iterator[str]:
    """Whoever was told that the answer counts gave the one that the log has."""
    taken = Counter(given.request_id for given in one.given if given.outcome == "taken")
    for given in one.given:
        if given.outcome not in ("taken", "again"):
            continue
        told = resolved.get(given.request_id)
        if told is None or told.resolution != "answered":
            yield f"an answer to {given.request_id} was taken, and the log does not have it"
        elif (told.decision == v1.ALLOW_ONCE) != given.allow:
            yield f"an answer to {given.request_id} was taken that is not the one in the log"
    for request_id, count in taken.items():
        if count > 1:
            yield f"{count} answers to {request_id} were each the first"


def _effect(one: SessionEvidence, resolved: dict[str, v1.PermissionResolved]) -> Iterator[str]:
    heard = Counter(noted.name for noted in one.ledger if noted.what == "heard")
    for request_id, count in heard.items():
        if count > 1:
            yield f"the agent heard {count} answers to {request_id}"
    for noted in one.ledger:
        if noted.what != "heard":
            continue
        told = resolved.get(noted.name)
        if told is None or told.resolution != "answered":
            yield f"the agent heard an answer to {noted.name} that the log does not have"
        elif (noted.behaviour == "allow") != (told.decision == v1.ALLOW_ONCE):
            yield f"the agent heard {noted.behaviour} for {noted.name}, and the log says otherwise"
    for name, count in Counter(noted.name for noted in one.ledger if noted.what == "ran").items():
        if count > 1:
            yield f"tool {name} ran {count} times"
