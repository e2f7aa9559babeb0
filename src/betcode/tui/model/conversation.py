"""A conversation as blocks; pages of history can be loaded in any order."""

from collections.abc import Iterable

from betcode.tui.model.blocks import Block, UserMessage
from betcode.tui.model.history_segment import HistorySegment
from betcode.tui.model.merge import prepend
from betcode.v1 import agent_pb2 as v1
from betcode.wording.input_lock import called, person_of

_OPENING_BLOCKS = 8  # maximum before the first message
_OPENING_LETTERS = 200


class OlderPage:
    """Events before a conversation, added in batches so that the screen stays responsive."""

    def __init__(self, segment: HistorySegment, before: int) -> None:
        self.segment = segment
        self.oldest = 0
        self._before = before  # 0: no events yet

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """Add the next events; those that the conversation already has are skipped."""
        for event in events:
            if event.sequence and (event.sequence < self._before or not self._before):
                self.oldest = self.oldest or event.sequence
                self.segment.take(event)


class ConversationModel:
    """Accepts newer events at its end and older ones at its beginning; each counts once."""

    def __init__(self, own_client_id: str = "", directory: str = "") -> None:
        self.revision = 0  # a rendering is out of date if this has changed
        self.oldest = 0  # the numbers of the first and the last event; 0: none
        self.newest = 0
        self.has_older = False  # older events can be loaded
        self.compacted_before = 0  # events before this number were compacted; 0: none
        self._own_client_id = own_client_id
        self._directory = directory  # paths in it are shown relative to it
        self._names: dict[str, str] = {}  # names of known clients
        self._segment = HistorySegment(self._name_of, self._directory)

    @property
    def blocks(self) -> list[Block]:
        """The root blocks, in the order of their beginnings."""
        return self._segment.blocks

    @property
    def opening(self) -> str:
        """The beginning of the first message; empty if it is not loaded."""
        if self.has_older or self.compacted_before:
            return ""
        messages = (block.text for block in self.blocks[:_OPENING_BLOCKS] if isinstance(block, UserMessage))
        return next(messages, "")[:_OPENING_LETTERS]

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """Add events after all others; known ones are skipped."""
        for event in events:
            if event.sequence:
                if event.sequence <= self.newest:
                    continue
                self.newest = event.sequence
                self.oldest = self.oldest or event.sequence
            else:
                self._note_client(event)
            self._segment.take(event)
        self.revision += 1

    def prepend(self, events: Iterable[v1.AgentEvent]) -> None:
        """Add events before all others; the blocks are the same as if all had been added in order."""
        page = self.older_page()
        page.take(events)
        self.prepend_page(page)

    def older_page(self) -> OlderPage:
        """Return an empty page for the events before this conversation."""
        return OlderPage(HistorySegment(self._name_of, self._directory), self.oldest)

    def prepend_page(self, page: OlderPage) -> None:
        """Add the whole page at once."""
        prepend(page.segment, self._segment)
        self.newest = self.newest or page.segment.newest
        self.oldest = page.oldest or self.oldest
        self._segment.newest = self.newest
        self.revision += 1

    def end(self) -> None:
        """Break off everything that is open, because the session has ended."""
        self._segment.break_off(subagents=True)
        self.revision += 1

    # ------------------------------------------------------------ authors of messages

    def _note_client(self, event: v1.AgentEvent) -> None:
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
