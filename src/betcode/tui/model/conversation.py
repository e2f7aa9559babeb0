"""A conversation as blocks; pages of history can be loaded in any order."""

from collections.abc import Iterable

from betcode.tui.model.blocks import Block, UserMessage
from betcode.tui.model.history_segment import HistorySegment
from betcode.tui.model.merge import prepend
from betcode.v1 import agent_pb2 as v1
from betcode.wording.input_lock import called, person_of

_OPENING_BLOCKS = 8  # at most, before the first message
_OPENING_LETTERS = 200


class OlderPage:
    """What comes before a conversation, taken piece by piece so that nobody waits for all of it at once."""

    def __init__(self, segment: HistorySegment, before: int) -> None:
        self.segment = segment
        self.oldest = 0
        self._before = before  # 0: nothing was taken yet

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """The next of its events; those that the conversation has are left out."""
        for event in events:
            if event.sequence and (event.sequence < self._before or not self._before):
                self.oldest = self.oldest or event.sequence
                self.segment.take(event)


class ConversationModel:
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
        self._segment = HistorySegment(self._name_of, self._directory)

    @property
    def blocks(self) -> list[Block]:
        """The roots, in the order in which each began."""
        return self._segment.blocks

    @property
    def opening(self) -> str:
        """The beginning of what somebody said first; empty where the beginning is not loaded."""
        if self.has_older or self.compacted_before:
            return ""
        said = (block.text for block in self.blocks[:_OPENING_BLOCKS] if isinstance(block, UserMessage))
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
            self._segment.take(event)
        self.revision += 1

    def prepend(self, events: Iterable[v1.AgentEvent]) -> None:
        """Events that come before all that were taken; the blocks are as if all had been taken in order."""
        page = self.older_page()
        page.take(events)
        self.prepend_page(page)

    def older_page(self) -> OlderPage:
        """An empty one, for what comes before all that was taken so far."""
        return OlderPage(HistorySegment(self._name_of, self._directory), self.oldest)

    def prepend_page(self, page: OlderPage) -> None:
        """All of the page at once."""
        prepend(page.segment, self._segment)
        self.newest = self.newest or page.segment.newest
        self.oldest = page.oldest or self.oldest
        self._segment.newest = self.newest
        self.revision += 1

    def end(self) -> None:
        """The session has ended: nothing that is open comes to an end of its own."""
        self._segment.break_off(subagents=True)
        self.revision += 1

    # ------------------------------------------------------------ who typed

    def _heard(self, event: v1.AgentEvent) -> None:
        for one in event.presence.clients:
            self._learn(one.client_id, called(one.client_id, one.client_type, one.client_name))

    def _learn(self, client_id: str, name: str) -> None:
        if self._names.get(client_id) == name:
            return
        self._names[client_id] = name
        for block in self._segment.by_key.values():
            if isinstance(block, UserMessage) and block.client_id == client_id and block.by:
                block.by = name
                self._segment.touch(block)

    def _name_of(self, client_id: str) -> str:
        own = self._own_client_id
        is_own = client_id == own or (bool(person_of(own)) and person_of(client_id) == person_of(own))
        return "" if is_own else self._names.get(client_id, client_id)
