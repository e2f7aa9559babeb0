"""List and watch open prompts."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from betcode.domain.errors import InvalidRequest, SessionNotFound
from betcode.domain.store.rows import PromptRow, PromptState, SessionRow
from betcode.domain.values.identifiers import SessionId
from betcode.engine import Engine
from betcode.engine.follow.pending_watch import ResolvedPrompt
from betcode.server.convert import views
from betcode.server.rpc import Caller, Context, send_client_id
from betcode.v1 import agent_pb2 as v1

_RESOLUTIONS: Mapping[PromptState, str] = {
    PromptState.ANSWERED: "answered",
    PromptState.EXPIRED: "expired",
    PromptState.SUPERSEDED: "superseded",
}


# A generic client accepts 4 MiB per message; one prompt has at most 256 KiB for each of its questions.
_PAGE_BYTES = 2 * 1024 * 1024
_OVERHEAD_BYTES = 1024  # its session's name and directory, and times


class PendingCalls:
    """The calls about open prompts and their sessions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_pending(self, _: Caller, request: v1.ListPendingRequest) -> v1.ListPendingResponse:
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        rows = _after(await self._engine.pending(session), request.page_token)
        page = rows[: _fitting(rows)]
        token = _token(page[-1][1]) if len(page) < len(rows) else ""
        return v1.ListPendingResponse(prompts=await self._shown(page), next_page_token=token)

    async def watch_pending(self, caller: Caller, request: v1.WatchPendingRequest, context: Context) -> None:
        """Send the open prompts, then every change; ends with its client or with the daemon."""
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        await send_client_id(caller, context)
        before = True
        async with contextlib.aclosing(self._engine.watch_pending(session)) as updates:
            async for update in updates:
                for one in update.resolved:
                    await context.write(_resolved(one).SerializeToString())
                for view in await self._shown(update.opened):
                    change = v1.PendingChange(session_id=view.session_id, was_open_before=before, opened=view)
                    await context.write(change.SerializeToString())
                if before:
                    before = False
                    await context.write(v1.PendingChange(all_told=True).SerializeToString())

    async def _shown(self, prompts: Iterable[tuple[SessionId, PromptRow]]) -> list[v1.PendingPrompt]:
        rows: dict[SessionId, SessionRow] = {}
        shown: list[v1.PendingPrompt] = []
        for of, prompt in prompts:
            view = views.pending(of, prompt, agent_is_gone=self._engine.agent_is_gone(of, prompt))
            with contextlib.suppress(SessionNotFound):  # it was deleted this instant
                row = rows[of] = rows.get(of) or await self._engine.row(of)
                view.session_name, view.working_directory = row.state.name, row.new.working_directory
            shown.append(view)
        return shown


def _fitting(rows: Sequence[tuple[SessionId, PromptRow]]) -> int:
    """Return how many of them fit into one message, at least one."""
    size = 0
    for index, (_, row) in enumerate(rows):
        size += len(row.event) + _OVERHEAD_BYTES
        if size > _PAGE_BYTES and index:
            return index
    return len(rows)


def _token(row: PromptRow) -> str:
    return f"{row.asked_ns}/{row.request_id}"


def _after(rows: Sequence[tuple[SessionId, PromptRow]], token: str) -> Sequence[tuple[SessionId, PromptRow]]:
    """Return the prompts after the one that a page token names; if that one is closed, those from its time on.

    Raises:
        InvalidRequest: we never sent this token.
    """
    if not token:
        return rows
    at_ns, _, request_id = token.partition("/")
    if not (at_ns.isascii() and at_ns.isdigit()):
        raise InvalidRequest("page_token is invalid: start again without it")
    for index, (_, row) in enumerate(rows):
        if row.request_id == request_id:
            return rows[index + 1 :]
    return [one for one in rows if one[1].asked_ns >= int(at_ns)]


def _resolved(one: ResolvedPrompt) -> v1.PendingChange:
    resolved = v1.PermissionResolved(request_id=one.request_id, resolution="withdrawn")
    row = one.row
    if row is not None:
        resolved.resolution = _RESOLUTIONS.get(row.state, "withdrawn")
        resolved.client_id, resolved.client_type = row.answered_by, row.answered_by_type
        resolved.message, resolved.superseded_by, resolved.grant_pattern = (
            row.message,
            row.superseded_by,
            row.grant_pattern,
        )
        if row.decision in v1.PermissionDecision.keys():  # noqa: SIM118 an enum's wrapper is no mapping
            resolved.decision = v1.PermissionDecision.Value(row.decision)
    return v1.PendingChange(session_id=one.session, resolved=resolved)
