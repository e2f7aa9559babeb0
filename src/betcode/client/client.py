"""The client that every front end uses to call a daemon."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import anyio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from betcode.client import follow as following
from betcode.client.audit import AuditReader
from betcode.client.backoff import LADDER_MS
from betcode.client.config import ConfigClient
from betcode.client.connection import (
    ALIVE_S,
    ClientIdentity,
    Connection,
    OnDeprecation,
    OnLink,
    Sleep,
    ignore_deprecation,
    ignore_link,
    open_connection,
)
from betcode.client.conversation import ConversationStream, user_message
from betcode.client.diffs import DiffReader
from betcode.client.grants import GrantClient
from betcode.client.handshake import Handshake
from betcode.client.input_lock import InputLockClient
from betcode.client.new_conversation import NewConversation
from betcode.client.pending_watch import watch_pending
from betcode.client.policy import PolicyClient
from betcode.client.stream import messages_of
from betcode.client.worktrees import WorktreeClient
from betcode.config.paths import Paths
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.v1 import agent_pb2 as v1
from betcode.v1.admin_pb2 import AgentsAtStop, StopDaemonRequest, StopDaemonResponse
from betcode.v1.admin_pb2_grpc import AdminServiceStub
from betcode.v1.health_pb2 import HealthDetailsRequest, HealthDetailsResponse
from betcode.v1.health_pb2_grpc import BetCodeHealthStub

Providers = Sequence[v1.ProviderInfo]
_PAGE = 200
_PAGE_BYTES = 256 * 1024
_COMPACTION_TIMEOUT_S = 3600.0  # a model reads the whole conversation and writes a long summary


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that the daemon has stored, and the number of its event."""

    message_id: MessageId
    sequence: int


class Client:
    """The calls of a daemon. They are retried if that can help; other failures raise a ClientError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = connection.stub
        self.audit = AuditReader(connection)

    @property
    def identity(self) -> ClientIdentity:
        return self._connection.identity

    @property
    def is_local(self) -> bool:
        """Whether the daemon's files are on this machine."""
        return not self._connection.token

    @property
    def diffs(self) -> DiffReader:
        """Changes of sessions and worktrees."""
        return DiffReader(self._connection)

    @property
    def policy(self) -> PolicyClient:
        """Policy decisions and trusted projects."""
        return PolicyClient(self._connection)

    @property
    def config(self) -> ConfigClient:
        """Settings, MCP servers and the rules in force."""
        return ConfigClient(self._connection)

    @property
    def grants(self) -> GrantClient:
        """What people allowed or denied for the rest of a session."""
        return GrantClient(self._connection)

    @property
    def input_lock(self) -> InputLockClient:
        """The input lock of sessions."""
        return InputLockClient(self._connection)

    @property
    def worktrees(self) -> WorktreeClient:
        """Worktrees of repositories."""
        return WorktreeClient(self._connection)

    async def providers(self, name: str, env: Mapping[str, str], *, skip_versions: bool = False) -> Providers:
        """Return the providers and their status for sessions with this environment; one by name, or all."""
        request = v1.ListProvidersRequest(name=name, environment=env, skip_versions=skip_versions)
        return (await self._connection.call(self._stub.ListProviders, request)).providers

    async def handshake(self) -> Handshake:
        """Return the versions and features of the daemon, requested once per connection.

        Raises:
            Outdated: the daemon does not accept a client this old.
        """
        return await self._connection.greeted()

    async def versions(self) -> Handshake:
        """Do the same even if the daemon does not accept this client; tried once."""
        return await self._connection.greeting.shake(self._connection.metadata)

    async def start_session(self, new: NewConversation) -> str:
        """Create a session and return its id. Retries create only one. Its agent starts with the first message."""
        await self.handshake()
        request = v1.SubmitRequest(request=v1.AgentRequest(start=new.start()))
        return (await self._connection.call(self._stub.Submit, request, with_ticket=True)).session_id

    async def send(
        self,
        session_id: str,
        text: str,
        attachments: Sequence[AttachedFile] = (),
        *,
        message_id: MessageId | None = None,
    ) -> Accepted:
        """Return when the daemon has stored the message. A retry with the same id counts once."""
        own_id = message_id or new_message_id()
        message = v1.AgentRequest(message=user_message(own_id, text, attachments))
        response = await self._connection.call(
            self._stub.Submit, v1.SubmitRequest(session_id=session_id, request=message), with_ticket=True
        )
        return Accepted(MessageId(response.message_id) or own_id, response.sequence)

    def follow(
        self, session_id: str, after: int = 0, *, on_link: OnLink = ignore_link, include_compacted: bool = False
    ) -> AsyncGenerator[v1.AgentEvent, None]:
        """Yield every event after `after`, once and in order, then live ones; reconnects. Hold it in `aclosing`.

        An unnumbered SessionInfo replaces compacted history, unless `include_compacted`.
        """
        return following.follow(self._connection, session_id, after, on_link, include_compacted=include_compacted)

    def follow_batches(
        self, session_id: str, after: int = 0, *, on_link: OnLink = ignore_link, include_compacted: bool = False
    ) -> AsyncGenerator[Sequence[v1.AgentEvent], None]:
        """Do the same in batches of all events that have arrived, for clients that draw in frames."""
        return following.follow_batches(
            self._connection, session_id, after, on_link, include_compacted=include_compacted
        )

    async def read_events(
        self, session_id: str, *, before: int = 0, limit_bytes: int = _PAGE_BYTES, include_compacted: bool = False
    ) -> v1.ReadEventsResponse:
        """Return one page of history: the events before `before`, in order; 0 for the newest."""
        request = v1.ReadEventsRequest(
            session_id=session_id, before_sequence=before, limit_bytes=limit_bytes, include_compacted=include_compacted
        )
        return await self._connection.call(self._stub.ReadEvents, request)

    def converse(self, session_id: str, after: int = 0, *, on_link: OnLink = ignore_link) -> ConversationStream:
        """Open a stream for messages and events that reconnects."""
        return ConversationStream(self._connection, session_id, after, on_link)

    async def answer_permission(
        self, request_id: str, decision: v1.PermissionDecision.ValueType, *, message: str = "", session_id: str = ""
    ) -> bool:
        """Answer a permission request; return whether the same answer was given before."""
        response = v1.PermissionResponse(decision=decision, message=message)
        return (await self.answer(request_id, response, session_id=session_id)).already_answered

    async def answer(
        self, request_id: str, response: v1.PermissionResponse, *, session_id: str = "", equal_prompts: bool = False
    ) -> v1.AnswerPermissionResponse:
        """Answer one prompt or all equal ones; a retry with the same key counts once.

        Raises:
            Refused: someone else decided otherwise, or the decision is invalid and the prompt remains open.
        """
        whole = v1.PermissionResponse(request_id=request_id, idempotency_key=new_message_id())
        whole.MergeFrom(response)
        request = v1.AnswerPermissionRequest(session_id=session_id, response=whole, equal_prompts=equal_prompts)
        return await self._connection.call(self._stub.AnswerPermission, request, with_ticket=True)

    async def answer_question(
        self, question_id: str, answers: Mapping[str, str], *, session_id: str = ""
    ) -> v1.AnswerQuestionResponse:
        """Answer questions; the agent continues when every question of the group is answered."""
        response = v1.UserQuestionResponse(question_id=question_id, answers=answers)
        request = v1.AnswerQuestionRequest(session_id=session_id, response=response)
        return await self._connection.call(self._stub.AnswerQuestion, request, with_ticket=True)

    async def pending(self, session_id: str = "") -> Sequence[v1.PendingPrompt]:
        """Return the open prompts of one session or of all."""
        found: dict[str, v1.PendingPrompt] = {}  # pages may overlap
        request = v1.ListPendingRequest(session_id=session_id)
        while True:
            page = await self._connection.call(self._stub.ListPending, request)
            found |= {one.request_id: one for one in page.prompts}
            if not page.next_page_token:
                return list(found.values())
            request.page_token = page.next_page_token

    def watch_pending(
        self, session_id: str = "", *, on_link: OnLink = ignore_link
    ) -> AsyncGenerator[v1.PendingChange, None]:
        """Yield the open prompts, then every change; reconnects. Hold it in `aclosing`."""
        return watch_pending(self._connection, session_id, on_link)

    async def list_sessions(
        self,
        *,
        working_directory: str = "",
        worktree_id: str = "",
        statuses: Sequence[str] = (),
        limit: int = 0,
        offset: int = 0,
    ) -> v1.ListSessionsResponse:
        """Return one page, newest first, and the total number."""
        request = v1.ListSessionsRequest(
            working_directory=working_directory,
            worktree_id=worktree_id,
            statuses=statuses,
            limit=limit,
            offset=offset,
        )
        return await self._connection.call(self._stub.ListSessions, request)

    async def all_sessions(self) -> AsyncGenerator[v1.SessionSummary, None]:
        """Yield every session, newest first, page by page."""
        offset = 0
        while True:
            page = await self.list_sessions(limit=_PAGE, offset=offset)
            for summary in page.sessions:
                yield summary
            offset += len(page.sessions)
            if not page.sessions or offset >= page.total:
                return

    async def cancel(self, session_id: str, *, cancel_queued: bool = False) -> bool:
        """Stop the open turn; return whether there was one. Repeated calls escalate."""
        return (await self.cancel_turn(session_id, cancel_queued=cancel_queued)).was_active

    async def cancel_turn(self, session_id: str, *, cancel_queued: bool = False) -> v1.CancelTurnResponse:
        """Do the same, and return the messages that were withdrawn before an agent had them."""
        request = v1.CancelTurnRequest(session_id=session_id, cancel_queued=cancel_queued)
        return await self._connection.call(self._stub.CancelTurn, request, with_ticket=True)

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Withdraw a message; return False if the agent already has it. A retry gives the same result."""
        request = v1.WithdrawMessageRequest(session_id=session_id, message_id=message_id)
        return (await self._connection.call(self._stub.WithdrawMessage, request, with_ticket=True)).withdrawn

    async def compact(self, session_id: str) -> v1.CompactSessionResponse:
        """Have the agent replace its context by a summary; return when that is done.

        A retry after a disconnect joins the same compaction.

        Raises:
            Refused: a turn is open, or the agent failed or cannot compact; nothing has changed.
        """
        if not (await self.handshake()).has("context_compaction"):
            self._connection.greeting.forget()  # the feature may have been enabled since the handshake
        (await self.handshake()).need("context_compaction", "Context compaction")
        request = v1.CompactSessionRequest(session_id=session_id, idempotency_key=new_message_id())
        return await self._connection.call(
            self._stub.CompactSession, request, timeout_s=_COMPACTION_TIMEOUT_S, with_ticket=True
        )

    async def close(self, session_id: str) -> bool:
        """Close the session for further input; return whether it was open."""
        request = v1.CloseSessionRequest(session_id=session_id)
        return (await self._connection.call(self._stub.CloseSession, request, with_ticket=True)).was_open

    async def delete(self, session_id: str) -> bool:
        """Delete the session and its history; return whether it existed."""
        request = v1.DeleteSessionRequest(session_id=session_id)
        return (await self._connection.call(self._stub.DeleteSession, request, with_ticket=True)).deleted

    async def rename(self, session_id: str, name: str) -> None:
        """Name the session; an empty name removes the name."""
        request = v1.RenameSessionRequest(session_id=session_id, name=name)
        await self._connection.call(self._stub.RenameSession, request, with_ticket=True)

    async def fork(self, session_id: str, *, at_sequence: int = 0, name: str = "") -> v1.ForkSessionResponse:
        """Create a session that continues after the last turn that ended at or before `at_sequence` (0: the newest)."""
        request = v1.ForkSessionRequest(session_id=session_id, at_sequence=at_sequence, name=name)
        return await self._connection.call(self._stub.ForkSession, request, retries=0, with_ticket=True)

    async def set_budget(self, session_id: str, budget: v1.Budget) -> v1.SetBudgetResponse:
        """Replace the limits; an empty budget removes them. The response contains the usage."""
        request = v1.SetBudgetRequest(session_id=session_id, budget=budget)
        return await self._connection.call(self._stub.SetBudget, request, with_ticket=True)

    async def search(
        self, query: str, *, session_id: str = "", limit: int = 0, offset: int = 0
    ) -> v1.SearchSessionsResponse:
        """Return one page of search results, in one session or in all."""
        request = v1.SearchSessionsRequest(query=query, session_id=session_id, limit=limit, offset=offset)
        return await self._connection.call(self._stub.SearchSessions, request)

    async def export(self, session_id: str, file_format: str, *, raw: bool = False) -> AsyncGenerator[bytes, None]:
        """Yield the whole history as one file ("json", "markdown", "html"), in pieces. Hold it in `aclosing`.

        Secrets in inputs of tools are removed, unless `raw`.
        """
        request = v1.ExportSessionRequest(session_id=session_id, format=file_format, raw=raw)
        call = self._stub.ExportSession(request, metadata=self._connection.metadata)
        async with aclosing(messages_of(call, v1.ExportChunk)) as chunks:
            async for chunk in chunks:
                yield chunk.data

    async def read_blob(self, session_id: str, sha256: str, *, offset: int = 0) -> AsyncGenerator[bytes, None]:
        """Yield the whole value that was too long for its event, in pieces. Hold it in `aclosing`."""
        request = v1.ReadBlobRequest(session_id=session_id, sha256=sha256, offset=offset)
        call = self._stub.ReadBlob(request, metadata=self._connection.metadata)
        async with aclosing(messages_of(call, v1.BlobChunk)) as chunks:
            async for chunk in chunks:
                yield chunk.data

    async def is_serving(self, *, timeout_s: float = 5.0) -> bool:
        """Whether the daemon reports that it serves; tried once.

        Raises:
            Unreachable: nobody answers.
        """
        check = self._connection.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        answer = await self._connection.call(check, HealthCheckRequest(), retries=0, timeout_s=timeout_s)
        return answer.status == HealthCheckResponse.SERVING

    async def health(self, *, timeout_s: float = 5.0) -> HealthDetailsResponse:
        """Return the health of each component; tried once."""
        details = BetCodeHealthStub(self._connection.channel).GetHealthDetails
        return await self._connection.call(details, HealthDetailsRequest(), retries=0, timeout_s=timeout_s)

    async def stop_daemon(self, pid: int, agents: AgentsAtStop.ValueType) -> StopDaemonResponse:
        """Stop the daemon with this pid, and return what happened to its agents. The process ends a moment later.

        Raises:
            Refused: another daemon answers, or this process runs inside an agent.
        """
        stop = AdminServiceStub(self._connection.channel).StopDaemon
        return await self._connection.call(stop, StopDaemonRequest(pid=pid, agents=agents), with_ticket=True)


@asynccontextmanager
async def open_client(
    paths: Paths,
    identity: ClientIdentity | None = None,
    *,
    ladder_ms: Sequence[int] = LADDER_MS,
    sleep: Sleep = anyio.sleep,
    on_deprecation: OnDeprecation = ignore_deprecation,
    alive_s: float = ALIVE_S,
) -> AsyncIterator[Client]:
    """Open a client of the daemon at these paths; leaving the block disconnects it and ends no turn."""
    name = identity or ClientIdentity()
    async with open_connection(
        paths, name, ladder_ms=ladder_ms, sleep=sleep, on_deprecation=on_deprecation, alive_s=alive_s
    ) as connection:
        yield Client(connection)
