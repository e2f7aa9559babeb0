"""A conversation as blocks, whichever page of it is read first."""

from collections.abc import Iterable

from betcode.tui.model.blocks import Block, Said
from betcode.tui.model.history_segment import Stretch
from betcode.tui.model.merge import put_before
from betcode.v1 import agent_pb2 as v1
from betcode.wording.input_lock import called, person_of

_OPENING_BLOCKS = 8  # at most, before the first message
_OPENING_LETTERS = 200


class OlderPage:
    """What comes before a conversation, taken piece by piece so that nobody waits for all of it at once."""

    def __init__(self, stretch: Stretch, before: int) -> None:
        self.stretch = stretch
        self.oldest = 0
        self._before = before  # 0: nothing was taken yet

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """The next of its events; those that the conversation has are left out."""
        for event in events:
            if event.sequence and (event.sequence < self._before or not self._before):
                self.oldest = self.oldest or event.sequence
                self.stretch.take(event)


class Conversation:
    """Takes newer events at its end and older ones at its beginning; each counts once."""

    def __init__(self, own_client_id: str = "", directory: str = "") -> None:
        self.revision = 0  # of the whole: what is drawn is out of date when it has changed
        self.oldest = 0  # the numbers of the first and the last event that were taken; 0: none
        self.newest = 0
        self.has_older = False  # there is more before the oldest, and it can be loaded
        self.compacted_before = 0  # what came before this number was compacted; 0: nothing was
        self._own_client_id = own_client_id
        self._directory = directory  # files in it are called without it
        self._names: dict[str, str] = {}  # of clients that were heard of
        self._stretch = Stretch(self._name_of, self._directory)

    @property
    def blocks(self) -> list[Block]:
        """The roots, in the order in which each began."""
        return self._stretch.blocks

    @property
    def opening(self) -> str:
        """The beginning of what somebody said first; empty where the beginning is not loaded."""
        if self.has_older or self.compacted_before:
            return ""
        said = (block.text for block in self.blocks[:_OPENING_BLOCKS] if isinstance(block, Said))
        return next(said, "")[:_OPENING_LETTERS]

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """Events that come after all that were taken before; those that were are left out."""
        for event in events:
            if event.sequence:
                if event.sequence <= self.newest:
                    continue
                self.newest = event.sequence
                self.oldest = self.oldest or event.sequence
            else:
                self._heard(event)
            self._stretch.take(event)
        self.revision += 1

    def prepend(self, events: Iterable[v1.AgentEvent]) -> None:
        """Events that come before all that were taken; the blocks are as if all had been taken in order."""
        page = self.older_page()
        page.take(events)
        self.put_before(page)

    def older_page(self) -> OlderPage:
        """An empty one, for what comes before all that was taken so far."""
        return OlderPage(Stretch(self._name_of, self._directory), self.oldest)

    def put_before(self, page: OlderPage) -> None:
        """All of the page at once."""
        put_before(page.stretch, self._stretch)
        self.newest = self.newest or page.stretch.newest
        self.oldest = page.oldest or self.oldest
        self._stretch.newest = self.newest
        self.revision += 1

    def end(self) -> None:
        """The session has ended: nothing that is open comes to an end of its own."""
        self._stretch.break_off(subagents=True)
        self.revision += 1

    # ------------------------------------------------------------ who typed

    def _heard(self, event: v1.AgentEvent) -> None:
        for one in event.presence.clients:
            self._learn(one.client_id, called(one.client_id, one.client_type, one.client_name))

    def _learn(self, client_id: str, name: str) -> None:
        if self._names.get(client_id) == name:
            return
        self._names[client_id] = name
        for block in self._stretch.by_key.values():
            if isinstance(block, Said) and block.client_id == client_id and block.by:
                block.by = name
                self._stretch.touch(block)

    def _name_of(self, client_id: str) -> str:
        own = self._own_client_id
        is_own = client_id == own or (bool(person_of(own)) and person_of(client_id) == person_of(own))
        return "" if is_own else self._names.get(client_id, client_id)
