"""A question takes effect exactly once: asked once, resolved once, and the agent hears what the log says."""

from collections import Counter
from collections.abc import Iterator, Sequence

from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import SessionEvidence


def judge_prompts(one: SessionEvidence, events: Sequence[v1.AgentEvent]) -> Iterator[str]:
    asked = Counter(event.permission_request.request_id for event in events if event.HasField("permission_request"))
    groups = (event.user_question for event in events if event.HasField("user_question"))
    asked += Counter(question.group_id for question in groups if question.question_id.endswith("#0"))
    resolved = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    by_id = {told.request_id: told for told in reversed(resolved)}  # the first counts
    heard = {noted.name for noted in one.ledger if noted.what == "heard"}
    heard -= {noted.name for noted in one.ledger if noted.what == "withdrew"}
    for request_id, count in asked.items():
        if count > 1:
            yield f"prompt {request_id} is asked {count} times"
        if request_id not in by_id:
            yield f"prompt {request_id} is open though nothing is left to do"
    for request_id, count in Counter(told.request_id for told in resolved).items():
        hows = [told.resolution for told in resolved if told.request_id == request_id]
        # A cancel may come between an answer and the agent, which then takes its question back: history has both.
        if count > 1 and not (hows == ["answered", "withdrawn"] and request_id not in heard):
            yield f"prompt {request_id} is resolved {count} times"
        if request_id not in asked:
            yield f"prompt {request_id} is resolved and was never asked"
    yield from _rows(one, by_id)
    yield from _answers(one, by_id)
    yield from _effect(one, by_id)


def _rows(one: SessionEvidence, resolved: dict[str, v1.PermissionResolved]) -> Iterator[str]:
    for request_id, row in one.prompts.items():
        told = resolved[request_id].resolution if request_id in resolved else "open"
        if (row.state == "answered") != (told == "answered"):
            yield f"prompt {request_id} is told to be {told}, and is stored as {row.state}"


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
