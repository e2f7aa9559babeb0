"""Watch the open prompts of all sessions, across reconnects."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from betcode.client.connection import Connection, OnLink
from betcode.client.errors import ClientError, as_client_errors
from betcode.client.follow import RetryPolicy
from betcode.v1 import agent_pb2 as v1


async def watch_pending(
    connection: Connection, session_id: str, on_link: OnLink
) -> AsyncGenerator[v1.PendingChange, None]:
    """Yield each prompt when it is opened and when it is resolved; reconnects. Hold it in `aclosing`.

    Raises:
        ClientError: the daemon refuses, and a retry would not help.
    """
    known: dict[str, str] = {}  # the session of each known prompt
    retry_policy = RetryPolicy(connection.ladder(), on_link)
    request = v1.WatchPendingRequest(session_id=session_id)
    is_first = True
    while True:
        found: set[str] = set()
        try:
            async with aclosing(_one_stream(connection, request, retry_policy)) as changes:
                async for change in changes:
                    match change.WhichOneof("change"):
                        case "opened":
                            found.add(change.opened.request_id)
                            if change.opened.request_id not in known:
                                known[change.opened.request_id] = change.session_id
                                yield change
                        case "resolved":
                            if known.pop(change.resolved.request_id, None) is not None:
                                yield change
                        case "all_told":
                            for missed in [each for each in known if each not in found]:
                                yield _missed(known.pop(missed), missed)
                            if is_first:
                                is_first = False
                                yield change
                        case _:
                            pass  # a message of a later daemon
            return
        except ClientError as error:
            wait = retry_policy.wait_after(error)
        await connection.sleep(wait)


def _missed(session_id: str, request_id: str) -> v1.PendingChange:
    """Return the change for a prompt that was resolved during a disconnect; the history has its result."""
    return v1.PendingChange(
        session_id=session_id, resolved=v1.PermissionResolved(request_id=request_id, resolution="resolved meanwhile")
    )


async def _one_stream(
    connection: Connection, request: v1.WatchPendingRequest, retry_policy: RetryPolicy
) -> AsyncGenerator[v1.PendingChange, None]:
    call = connection.stub.WatchPending(request, metadata=connection.metadata)
    try:
        async with as_client_errors():
            await call.wait_for_connection()
        retry_policy.connected()
        while True:
            async with as_client_errors():
                change = await call.read()
            if not isinstance(change, v1.PendingChange):
                return
            retry_policy.progressed()
            yield change
    finally:
        call.cancel()
