"""Convert requests to values of the engine. Shapes are checked here; the engine checks the meaning."""

import json
import os.path
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from google.protobuf import json_format

from betcode.domain.agents.commands import AttachedFile, SendMessage
from betcode.domain.errors import InvalidRequest
from betcode.domain.events.search_documents import SearchQuery
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import NewSession
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import (
    MessageId,
    NotAnIdentifier,
    SessionId,
    is_session_id,
    new_message_id,
    new_session_id,
    parse_session_id,
)
from betcode.engine import PermissionAnswer
from betcode.server.convert import budgets
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

PAGE_DEFAULT = 50
PAGE_LIMIT = 1000
SEARCH_PAGE_DEFAULT = 20
SEARCH_PAGE_LIMIT = 100
QUERY_LIMIT = 1_000  # characters
ATTACHMENTS_LIMIT = 20
_METADATA_LIMIT_BYTES = 16 * 1024
_ENVIRONMENT_LIMIT_BYTES = 256 * 1024


def named(session_id: str) -> str:
    """The session a request is about.

    Raises:
        InvalidRequest: it names none.
    """
    if not session_id:
        raise InvalidRequest("No session is named: give a session_id")
    return session_id


# Which kind of agent a session with this environment gets.
DefaultProvider = Callable[[Mapping[str, str]], Awaitable[str]]


async def provider_of(start: v1.StartConversation, default_provider: DefaultProvider) -> str:
    """The provider of a new session, chosen or by default.

    Raises:
        InvalidRequest: its environment cannot be used.
    """
    return _chosen("provider", start) or await default_provider(checked_environment(start.environment))


def new_session(start: v1.StartConversation, provider: str) -> NewSession:
    """A session that does not exist yet.

    Raises:
        InvalidRequest: it cannot be made like this.
    """
    _check_size("metadata", start.metadata, _METADATA_LIMIT_BYTES)
    environment = checked_environment(start.environment)
    directory = start.working_directory
    return NewSession(
        session_id=_id_of_new(start),
        provider=provider,
        working_directory=os.path.normpath(directory) if directory else "",
        model=_chosen("model", start),
        allowed_tools=tuple(start.allowed_tools),
        plan_mode=start.plan_mode,
        worktree_id=start.worktree_id,
        metadata=dict(start.metadata),
        environment=environment or None,
        created_ns=now_ns(),
        budget=budgets.budget_of(start.budget),
    )


def names_new_session(start: v1.StartConversation) -> bool:
    """Return whether a request with an unknown `session_id` asks for a new session with that id."""
    return bool(start.working_directory) and is_session_id(start.session_id)


def check_same_directory(existing: NewSession, directory: str) -> None:
    """Raises InvalidRequest where a request to attach names another directory than the session works in."""
    if not directory:
        return
    requested = os.path.normpath(directory)
    # A session in a worktree stores the directory that its client requested and the one that it works in.
    if requested != existing.working_directory and not existing.asked_place.endswith(f" {requested}"):
        raise InvalidRequest(
            f"The session {existing.session_id} works in {existing.working_directory}, not in {requested[:500]}: "
            "attach without a directory, or use another session_id for a new session",
            session_id=existing.session_id,
            working_directory=existing.working_directory,
        )


def checked_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Raises InvalidRequest where it is too much."""
    _check_size("environment", environment, _ENVIRONMENT_LIMIT_BYTES)
    return dict(environment)


def _chosen(name: Literal["provider", "model"], start: v1.StartConversation) -> str:
    """Return the value of the request's own field, or of the metadata that older clients use.

    Raises:
        InvalidRequest: both are given and differ.
    """
    own, in_metadata = getattr(start, name), start.metadata.get(name, "")
    if own and in_metadata and own != in_metadata:
        raise InvalidRequest(
            f"Two {name}s are given, {own[:80]!r} and in the metadata {in_metadata[:80]!r}: give one", name=name
        )
    return str(own or in_metadata)


def _id_of_new(start: v1.StartConversation) -> SessionId:
    """Return the id of a new session: any `session_id`, a version 7 `new_session_id`, or a generated one.

    Raises:
        InvalidRequest: the id is invalid, or both are given.
    """
    own = _own_id(start.new_session_id) if start.new_session_id else None
    if not start.session_id:
        return own or new_session_id()
    named_id = parse_session_id(start.session_id)
    if own is not None and own != named_id:
        raise InvalidRequest("session_id and new_session_id are two ids for one session: give one of them")
    return named_id


def _own_id(text: str) -> SessionId:
    """The id that a client made for its session; like ours it begins with the time."""
    try:
        session = parse_session_id(text)
        if uuid.UUID(session).version != 7:
            raise NotAnIdentifier(text)
    except NotAnIdentifier:
        message = f"{text[:80]!r} is not a session id: send a UUID of version 7, or omit it"
        raise InvalidRequest(message) from None
    return session


def message(sent: v1.UserMessage) -> SendMessage:
    """A person's message; one without an id gets one, and cannot be recognised when it is sent again."""
    if len(sent.attachments) > ATTACHMENTS_LIMIT:
        raise InvalidRequest(f"{len(sent.attachments)} files are attached: send at most {ATTACHMENTS_LIMIT} at once")
    files = tuple(AttachedFile(each.filename, each.mime_type, each.data) for each in sent.attachments)
    return SendMessage(MessageId(sent.idempotency_key) or new_message_id(), sent.content, files)


def permission_answer(response: v1.PermissionResponse) -> PermissionAnswer:
    """Return the answer to one prompt.

    Raises:
        InvalidRequest: the answer is empty or unknown.
    """
    if not response.request_id:
        raise InvalidRequest("No prompt is named: give its id, see betcode permission list")
    return PermissionAnswer(
        response.request_id,
        response.decision,
        response.message,
        response.idempotency_key,
        response.grant_pattern,
        _updated_input(response),
        response.by_policy,
    )


def _updated_input(response: v1.PermissionResponse) -> str | None:
    """Return the JSON text that a person wrote, or that of the structured values; None if nothing was edited."""
    if response.updated_input_json:
        return response.updated_input_json
    if not response.HasField("updated_input"):
        return None
    return json.dumps(json_format.MessageToDict(response.updated_input), ensure_ascii=False)


def question_answer(response: v1.UserQuestionResponse) -> tuple[str, dict[str, str]]:
    """Return the question's id and the answers by question text.

    Raises:
        InvalidRequest: there is no answer.
    """
    if not response.question_id:
        raise InvalidRequest("No question is named: give a question_id")
    if not response.answers:
        raise InvalidRequest("The answer is empty: give one by the question's text")
    return response.question_id, dict(response.answers)


def session_filter(request: v1.ListSessionsRequest) -> SessionFilter:
    """Which sessions a list is about.

    Raises:
        InvalidRequest: an unknown status, a relative directory or too long a page.
    """
    known = tuple(status.value for status in SessionStatus)
    for status in request.statuses:
        if status not in known:
            raise InvalidRequest(f"{status[:80]!r} is not a session status: use {', '.join(known)}")
    directory = request.working_directory
    if directory and not Path(directory).is_absolute():
        raise InvalidRequest(f"The working directory {directory[:500]!r} is not absolute: give the absolute path")
    if request.limit > PAGE_LIMIT:
        raise InvalidRequest(f"A page has at most {PAGE_LIMIT} sessions: ask for fewer and continue with offset")
    return SessionFilter(
        working_directory=os.path.normpath(directory) if directory else "",
        worktree_id=request.worktree_id,
        statuses=tuple(dict.fromkeys(request.statuses)),
        limit=request.limit or PAGE_DEFAULT,
        offset=request.offset,
    )


def search_question(request: v1.SearchSessionsRequest, session: SessionId | None) -> SearchQuery:
    """Return the search query.

    Raises:
        InvalidRequest: it is empty or too long, or the page is too large.
    """
    if not any(letter.isalnum() for letter in request.query):
        raise InvalidRequest("The query is empty: give at least one word")
    if len(request.query) > QUERY_LIMIT:
        raise InvalidRequest(f"The query has {len(request.query)} characters: give at most {QUERY_LIMIT}")
    if request.limit > SEARCH_PAGE_LIMIT:
        raise InvalidRequest(f"A page has at most {SEARCH_PAGE_LIMIT} hits: ask for fewer and continue with offset")
    return SearchQuery(request.query, session, request.limit or SEARCH_PAGE_DEFAULT, request.offset)


def _check_size(what: str, values: Mapping[str, str], limit_bytes: int) -> None:
    size = sum(len(name.encode()) + len(value.encode()) for name, value in values.items())
    if size > limit_bytes:
        raise InvalidRequest(f"The {what} has {size} bytes: send at most {limit_bytes}", limit_bytes=str(limit_bytes))
