"""AgentService, except Converse: convert, call, convert back."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping

from betcode.domain.errors import InvalidRequest, SessionClosed, SessionNotFound
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import Batch, SessionRow, join_events
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.engine import Engine
from betcode.server.auth.gate import Gate
from betcode.server.auth.rate_limits import RateLimits
from betcode.server.convert import budgets, requests, views
from betcode.server.export import exported, exporter_for
from betcode.server.registration import long_call
from betcode.server.rpc import Caller, Context, send_client_id, warnings_in
from betcode.v1 import agent_pb2 as v1

SUBMIT = "betcode.v1.AgentService.Submit"  # a request in a conversation needs the same access as this call
_LIST_LIMIT_BYTES = 3 * 1024 * 1024  # a client with default options takes 4 MB
WorktreeNames = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]  # by their ids


class AgentCalls:
    """The calls about sessions, one method per RPC."""

    def __init__(
        self,
        engine: Engine,
        gate: Gate,
        default_provider: requests.DefaultProvider,
        limits: RateLimits,
        worktree_names: WorktreeNames,
    ) -> None:
        self._engine = engine
        self._worktree_names = worktree_names
        self._limits = limits
        self._gate = gate
        self._default_provider = default_provider

    async def create(self, caller: Caller, start: v1.StartConversation) -> SessionId:
        """Create a session; no process starts before its first message.

        Raises:
            InvalidRequest, WorktreeNotFound, WorktreeUnusable, RateLimited: it could not work; nothing was created.
            AnswerRefused: the call comes from inside an agent.
        """
        await self._gate.admit(caller, SUBMIT)
        self._limits.session(caller)
        new = requests.new_session(start, await requests.provider_of(start, self._default_provider))
        return await self._engine.create(new, in_active_worktree=start.in_active_worktree)

    async def open(self, caller: Caller, start: v1.StartConversation) -> tuple[SessionRow, bool]:
        """The session of a conversation, and whether it was created for it.

        An id that no session has creates one where the request names a directory too, so that a client may choose the
        id of its session and ask again.

        Raises:
            SessionNotFound, SessionClosed: there is none to attach to.
            InvalidRequest: the session works in another directory, or it cannot be created like this.
        """
        try:
            session = await self._engine.resolve(start.session_id) if start.session_id else None
        except SessionNotFound:
            if not requests.names_new_session(start):
                raise
            session = None
        if session is None:
            return await self._engine.row(await self.create(caller, start)), True
        row = await self._engine.row(session)
        requests.check_same_directory(row.new, start.working_directory)
        if row.state.status is SessionStatus.CLOSED:
            raise SessionClosed(session)
        return row, False

    async def list_sessions(self, _: Caller, request: v1.ListSessionsRequest) -> v1.ListSessionsResponse:
        entries, total = await self._engine.summaries(requests.session_filter(request))
        names = await self._worktree_names({entry.row.new.worktree_id for entry in entries})
        response = v1.ListSessionsResponse(sessions=[views.summary(entry, names) for entry in entries], total=total)
        if response.ByteSize() > _LIST_LIMIT_BYTES:
            raise InvalidRequest(f"{len(entries)} sessions do not fit on one page: ask for fewer")
        return response

    async def follow(self, caller: Caller, request: v1.FollowRequest, context: Context) -> None:
        """The log in batches; the bytes are those that were stored."""
        session = await self._session(request.session_id)
        await send_client_id(caller, context)  # on an idle session nothing else shows that the stream is open
        if warnings := warnings_in(caller.uses):
            await context.write(v1.AgentEventBatch(events=warnings).SerializeToString())
        async with contextlib.aclosing(self._follow(caller, session, request)) as batches:
            async for batch in batches:
                await context.write(batch.joined)

    async def resume_session(self, caller: Caller, request: v1.ResumeSessionRequest, context: Context) -> None:
        """The log event by event; the bytes are those that were stored."""
        session = await self._session(request.session_id)
        await send_client_id(caller, context)
        write = context.write
        for event in warnings_in(caller.uses):
            await write(event.SerializeToString())
        async with contextlib.aclosing(self._follow(caller, session, request)) as batches:
            async for batch in batches:
                for data in batch.events:
                    await write(data)

    async def read_events(self, _: Caller, request: v1.ReadEventsRequest) -> bytes:
        """A page of the log; the bytes of events are those that were stored."""
        session = await self._session(request.session_id)
        earlier = await self._engine.watching.before(
            session, Seq(request.before_sequence), request.limit_bytes, include_compacted=request.include_compacted
        )
        rest = v1.ReadEventsResponse(
            has_more=earlier.page.has_more, compacted_before=earlier.compacted_before, session_info=earlier.info
        )
        return join_events(earlier.page.events) + rest.SerializeToString()

    def _follow(
        self, caller: Caller, session: SessionId, request: v1.FollowRequest | v1.ResumeSessionRequest
    ) -> AsyncGenerator[Batch, None]:
        return self._engine.watching.follow(
            session, Seq(request.from_sequence), caller.client, include_compacted=request.include_compacted
        )

    async def submit(self, caller: Caller, request: v1.SubmitRequest) -> v1.SubmitResponse:
        """One request of a conversation, without the conversation."""
        kind = request.request.WhichOneof("request")
        if kind is None:
            raise InvalidRequest("The request is empty: send a start, a message, an answer or a cancel")
        if kind == "start":
            return await self._start(caller, request)
        session = await self._session(request.session_id)
        done = await self.act(caller, session, request.request)
        done.session_id = session
        if not done.sequence:
            done.sequence = (await self._engine.row(session)).state.last_seq
        return done

    async def act(self, caller: Caller, session: SessionId, request: v1.AgentRequest) -> v1.SubmitResponse:
        """Handle one request of an open conversation.

        Raises:
            BetcodeError: it failed, and nothing was changed.
        """
        done = v1.SubmitResponse()
        match request.WhichOneof("request"):
            case "message":
                self._limits.message(caller, session)
                accepted = await self._engine.submit(session, requests.message(request.message), caller.client)
                done.message_id, done.sequence = accepted.message_id, accepted.seq
            case "permission":
                answer = requests.permission_answer(request.permission)
                await self._engine.answers.permission(answer, await self._gate.admit(caller), session)
            case "question_response":
                question_id, answers = requests.question_answer(request.question_response)
                client = await self._gate.admit(caller)
                await self._engine.answers.question(question_id, answers, client, session)
            case "cancel":
                who = caller.client.client_id
                await self._engine.cancel_turn(session, cancel_queued=request.cancel.cancel_queued, client=who)
            case "start":
                raise InvalidRequest("This stream already has a session: open another stream for another session")
            case None:
                raise InvalidRequest("The request is empty: this daemon may be older than its client")
        return done

    @long_call
    async def request_input_lock(self, caller: Caller, request: v1.InputLockRequest) -> v1.InputLockResponse:
        session = await self._session(request.session_id)
        granted, previous = await self._engine.request_lock(session, caller.client)
        return v1.InputLockResponse(granted=granted, previous_holder=previous)

    async def answer_lock_request(
        self, caller: Caller, request: v1.AnswerLockRequestRequest
    ) -> v1.AnswerLockRequestResponse:
        session = await self._session(request.session_id)
        await self._engine.answer_lock_request(session, caller.client, request.asking_client_id, grant=request.grant)
        return v1.AnswerLockRequestResponse()

    async def answer_permission(
        self, caller: Caller, request: v1.AnswerPermissionRequest
    ) -> v1.AnswerPermissionResponse:
        answer = requests.permission_answer(request.response)
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        client = await self._gate.admit(caller)
        done = await self._engine.answers.permission(answer, client, session, equal=request.equal_prompts)
        return v1.AnswerPermissionResponse(already_answered=done.before, also_answered=done.also)

    async def answer_question(self, caller: Caller, request: v1.AnswerQuestionRequest) -> v1.AnswerQuestionResponse:
        question_id, answers = requests.question_answer(request.response)
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        client = await self._gate.admit(caller)
        already, complete = await self._engine.answers.question(question_id, answers, client, session)
        return v1.AnswerQuestionResponse(already_answered=already, group_complete=complete)

    async def list_session_grants(
        self, _: Caller, request: v1.ListSessionGrantsRequest
    ) -> v1.ListSessionGrantsResponse:
        grants = await self._engine.grants.listed(await self._session(request.session_id))
        return v1.ListSessionGrantsResponse(grants=[views.grant(row) for row in grants])

    async def set_session_grant(self, caller: Caller, request: v1.SetSessionGrantRequest) -> v1.SetSessionGrantResponse:
        """Add a grant for the session. For people only: an agent cannot grant itself anything."""
        client = await self._gate.admit(caller)
        session = await self._session(request.session_id)
        await self._engine.grants.add(session, request.tool_name, request.pattern, client, allows=request.granted)
        return v1.SetSessionGrantResponse()

    async def clear_session_grants(
        self, caller: Caller, request: v1.ClearSessionGrantsRequest
    ) -> v1.ClearSessionGrantsResponse:
        """Remove grants of the session. For people only: one of them may be a denial."""
        client = await self._gate.admit(caller)
        session = await self._session(request.session_id)
        cleared = await self._engine.grants.clear(session, request.tool_name, request.pattern, client)
        return v1.ClearSessionGrantsResponse(cleared=cleared)

    async def cancel_turn(self, caller: Caller, request: v1.CancelTurnRequest) -> v1.CancelTurnResponse:
        session, who = await self._session(request.session_id), caller.client.client_id
        done = await self._engine.cancel_turn(session, cancel_queued=request.cancel_queued, client=who)
        return v1.CancelTurnResponse(was_active=done.was_active, withdrawn_message_ids=done.withdrawn)

    @long_call
    async def withdraw_message(self, caller: Caller, request: v1.WithdrawMessageRequest) -> v1.WithdrawMessageResponse:
        session, who = await self._session(request.session_id), caller.client.client_id
        return views.withdrawn(await self._engine.withdraw(session, request.message_id, who))

    @long_call
    async def compact_session(self, _: Caller, request: v1.CompactSessionRequest) -> v1.CompactSessionResponse:
        session = await self._session(request.session_id)
        return views.compacted(await self._engine.compact(session, request.idempotency_key))

    async def close_session(self, caller: Caller, request: v1.CloseSessionRequest) -> v1.CloseSessionResponse:
        was_open = await self._engine.close(await self._session(request.session_id), caller.client.client_id)
        return v1.CloseSessionResponse(was_open=was_open)

    async def delete_session(self, caller: Caller, request: v1.DeleteSessionRequest) -> v1.DeleteSessionResponse:
        deleted = await self._engine.delete(await self._session(request.session_id), caller.client.client_id)
        return v1.DeleteSessionResponse(deleted=deleted)

    async def rename_session(self, _: Caller, request: v1.RenameSessionRequest) -> v1.RenameSessionResponse:
        await self._engine.rename(await self._session(request.session_id), request.name)
        return v1.RenameSessionResponse()

    async def fork_session(self, caller: Caller, request: v1.ForkSessionRequest) -> v1.ForkSessionResponse:
        self._limits.session(caller)
        session = await self._session(request.session_id)
        forked = await self._engine.fork(session, Seq(request.at_sequence), request.name)
        return v1.ForkSessionResponse(session_id=forked.session_id, at_sequence=forked.at)

    async def set_budget(self, _: Caller, request: v1.SetBudgetRequest) -> v1.SetBudgetResponse:
        session = await self._session(request.session_id)
        state = await self._engine.set_budget(session, budgets.budget_of(request.budget))
        return v1.SetBudgetResponse(budget=budgets.shown(state.budget), budget_use=budgets.used(state))

    async def search_sessions(self, _: Caller, request: v1.SearchSessionsRequest) -> v1.SearchSessionsResponse:
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        page = await self._engine.search(requests.search_question(request, session))
        return views.search_page(page)

    async def export_session(self, _: Caller, request: v1.ExportSessionRequest, context: Context) -> None:
        """The whole history as one file, in pieces that end anywhere."""
        exporter = exporter_for(request.format or "json")
        session = await self._session(request.session_id)
        summary = views.summary(await self._engine.summary(session))
        async with (
            contextlib.aclosing(self._engine.watching.history(session)) as batches,
            contextlib.aclosing(exported(exporter, summary, batches, raw=request.raw)) as pieces,
        ):
            async for piece in pieces:
                await context.write(v1.ExportChunk(data=piece).SerializeToString())

    async def read_blob(self, _: Caller, request: v1.ReadBlobRequest, context: Context) -> None:
        """Send a blob in chunks, each with its offset and the total size."""
        session = await self._session(request.session_id)
        total, pieces = await self._engine.watching.blob(session, request.sha256, request.offset, request.limit)
        offset = request.offset
        async for piece in pieces:
            chunk = v1.BlobChunk(offset=offset, data=piece, total_bytes=total)
            await context.write(chunk.SerializeToString())
            offset += len(piece)

    async def _start(self, caller: Caller, request: v1.SubmitRequest) -> v1.SubmitResponse:
        start = request.request.start
        if request.session_id and request.session_id != start.session_id:
            raise InvalidRequest("Two sessions are named: name the one to attach to in start, or none for a new one")
        row, _ = await self.open(caller, start)
        return v1.SubmitResponse(session_id=row.new.session_id, sequence=row.state.last_seq)

    async def _session(self, session_id: str) -> SessionId:
        return await self._engine.resolve(requests.named(session_id))
