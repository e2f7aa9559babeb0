"""The input lock in plain conversations: its holder, requests for it, and the person's answers."""

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.terminal.console import Screen
from betcode.client import Client, ClientError
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.input_lock import called, holder_in

_YES = frozenset({"y", "yes"})
_NO = frozenset({"n", "no"})


def locked_out(error: ClientError, session_id: str) -> CommandFailed:
    """Return the error for a message that was refused because of the lock: its holder, and how to request it."""
    return CommandFailed(
        f"Another client holds the input lock ({holder_in(error)}), so the message was not sent. "
        f"Request the lock with: betcode session lock {short_id(session_id)}",
        ExitCode.PERMISSION_DENIED,
    )


def who_lines(summary: v1.SessionSummary, own_id: str) -> list[str]:
    """Return the clients of the session, one per line; a long list is cut."""
    lines = [
        called(each.client_id, each.client_type, each.client_name)
        + (" (you)" if each.client_id == own_id else "")
        + (", holds the input lock" if each.client_id == summary.input_lock_client_id else "")
        + (f", {each.behind} events behind" if each.lagging else "")
        for each in summary.clients
    ]
    rest = summary.client_count - len(lines)
    return [*lines, f"and {rest} more"] if rest else lines


class InputLockDialog:
    """The state of the lock in one conversation."""

    def __init__(self, client: Client, session_id: str, screen: Screen) -> None:
        self.asking = ""  # the client that requests the lock from us and waits for an answer
        self._client = client
        self._session_id = session_id
        self._screen = screen
        self._is_ours = False
        self._asks = False  # our own request is pending
        self._waits = False  # we are queued for the lock

    def see(self, change: v1.InputLockChange) -> bool:
        """Process a change; return whether there is a new question to the person."""
        own = self._client.identity.client_id
        had_it, self._is_ours = self._is_ours, change.holder_client_id == own
        if had_it and change.holder_client_id and not self._is_ours:
            holder = called(change.holder_client_id, change.holder_client_type, change.holder_client_name)
            self._screen.note(f"{holder} has the input lock now; /lock requests it")
        elif self._is_ours and self._waits and not self._asks:
            self._screen.note("You have the input lock now")
        self._waits = own in change.waiting_client_ids
        asking_before, self.asking = self.asking, change.asking_client_id if self._is_ours else ""
        if asking_before and not self.asking and self._is_ours:
            self._screen.note("The request was withdrawn; you keep the input lock")
        if not self.asking or self.asking == asking_before:
            return False
        asking = called(self.asking, change.asking_client_type, change.asking_client_name)
        self._screen.note(f"{asking} requests the input lock and gets it soon if you do not answer")
        return True

    async def answered(self, line: str, *, only_commands: bool) -> bool:
        """Answer a request for the lock; return whether the line was such an answer.

        A bare y or n counts unless the agent has a question too.
        """
        word = line.strip().lower()
        gives = word == "/give" or (word in _YES and not only_commands)
        keeps = word == "/keep" or (word in _NO and not only_commands)
        if not self.asking and word in ("/give", "/keep"):
            self._screen.note("Nobody requests the input lock")
            return True
        if not self.asking or not (gives or keeps):
            return False
        asking, self.asking = self.asking, ""
        await self._client.input_lock.answer(self._session_id, asking, grant=gives)
        if keeps:
            self._screen.note("You keep the input lock; the other client is queued")
        return True

    async def ask(self) -> None:
        """Request the lock, and print the result."""
        if self._is_ours:
            self._screen.note("You already have the input lock")
            return
        self._screen.note("Requested the input lock; waiting for its holder")
        self._asks = True
        try:
            answer = await self._client.input_lock.request(self._session_id)
        except ClientError as error:
            self._screen.note(error.message)
        else:
            refused = (
                "The holder keeps the input lock; you are in line and get it when the holder disconnects or is idle"
            )
            self._screen.note("You have the input lock" if answer.granted else refused)
        finally:
            self._asks = False
