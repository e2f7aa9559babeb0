"""Prepends an older history segment to a newer one; the result equals that of reading both in order.

The cost depends on the older segment; of the newer one only the open beginnings are visited.
"""

from bisect import bisect_left

from betcode.tui.model.blocks import AgentText, Block, PromptBlock, ToolCallBlock, UserMessage
from betcode.tui.model.history_segment import HistorySegment, Slot, start_cuts
from betcode.v1 import agent_pb2 as v1


def prepend(older: HistorySegment, newer: HistorySegment) -> None:
    """Merge `older` into `newer`; blocks in both remain the newer one's objects."""
    _Merge(older, newer).close()


class _Merge:
    def __init__(self, older: HistorySegment, newer: HistorySegment) -> None:
        self._older = older
        self._newer = newer
        self._merged: dict[Block, Block] = {}  # a beginning, and the block that continues it

    def close(self) -> None:
        older, newer = self._older, self._newer
        self._settle_todos()
        self._merge_blocks()
        self._settle_prompts()
        self._settle_messages()
        self._settle_ends()
        for key, block in older.by_key.items():
            newer.by_key[key] = self._now(block)
        self._insert_blocks()
        self._adopt()
        self._close_or_keep_open()
        newer.ends_turn |= older.ends_turn
        newer.ends_agent |= older.ends_agent

    def _now(self, block: Block) -> Block:
        return self._merged.get(block, block)

    # ------------------------------------------------------------ blocks that are in both

    def _merge_blocks(self) -> None:
        older, newer = self._older, self._newer
        pairs = [(block, newer.by_key[key]) for key, block in older.by_key.items() if key in newer.by_key]
        pairs += [
            (words, newer.unnamed_first[slot]) for slot, words in older.unnamed.items() if slot in newer.unnamed_first
        ]
        for beginning, rest in pairs:
            self._detach(rest)
            self._merged[beginning] = rest
        for beginning, rest in pairs:
            if rest.key != beginning.key:
                del newer.by_key[rest.key]
                if isinstance(rest, AgentText) and newer.open.pop(rest.key, None) is not None:
                    newer.open[beginning.key] = rest
            _continue_block(beginning, rest)
            if isinstance(rest, AgentText) and rest.is_settled:
                newer.open.pop(rest.key, None)

    def _detach(self, block: Block) -> None:
        newer = self._newer
        if block.parent is not None:
            block.parent.children.remove(block)
            newer.touch(block.parent)
            block.parent = None
            return
        _remove(newer.blocks, block)
        if block.parent_id:
            newer.orphans[block.parent_id].remove(block)

    def _insert_blocks(self) -> None:
        older, newer = self._older, self._newer
        for block in older.by_key.values():
            if isinstance(block, ToolCallBlock):
                owner = self._now(block)
                assert isinstance(owner, ToolCallBlock)
                children = [self._now(child) for child in block.children]
                for child in children:
                    child.parent = owner
                owner.children = children if owner is block else children + owner.children
        newer.blocks[:0] = [self._now(block) for block in older.blocks]
        for parent_id, orphans in older.orphans.items():
            newer.orphans[parent_id] = [self._now(block) for block in orphans] + newer.orphans.get(parent_id, [])
        for block in older.by_key.values():
            newer.touch(self._now(block))

    def _adopt(self) -> None:
        """Move the output of a subagent below its call, once that is loaded."""
        newer = self._newer
        for block in self._older.by_key.values():
            use = self._now(block)
            if not isinstance(use, ToolCallBlock) or not (waiting := newer.orphans.get(use.tool_id)):
                continue
            mine = [orphan for orphan in waiting if orphan.first > use.first]
            if not mine:
                continue
            newer.orphans[use.tool_id] = [orphan for orphan in waiting if orphan.first <= use.first]
            for orphan in mine:
                _remove(newer.blocks, orphan)
                orphan.parent = use
            use.children = sorted(use.children + mine, key=_began)
            newer.touch(use)

    # ------------------------------------------------------------ open ends

    def _close_or_keep_open(self) -> None:
        older, newer = self._older, self._newer
        for key, block in older.open.items():
            if block in self._merged:
                continue
            if newer.closes(block.parent_id):
                newer.broken_off(block)
            else:
                newer.open[key] = block
        first: dict[Slot, AgentText] = {}
        for slot, words in older.unnamed_first.items():
            now = self._now(words)
            assert isinstance(now, AgentText)
            first[slot] = now
        for slot, words in older.unnamed.items():
            if words not in self._merged and not newer.closes(slot[1]):
                newer.unnamed[slot] = words
        for slot, words in newer.unnamed_first.items():
            if not older.closes(slot[1]):
                first.setdefault(slot, words)
        newer.unnamed_first = first

    def _settle_ends(self) -> None:
        """Add the usage of a turn whose end is on the newer page."""
        older, newer = self._older, self._newer
        if newer.end_without_usage is not None and older.usage is not None:
            newer.end_without_usage.summary = older.usage
            newer.touch(newer.end_without_usage)
            newer.end_without_usage = None
        if older.has_turn_end or older.usage is not None:
            newer.end_without_usage = older.end_without_usage
        if not newer.has_turn_end and newer.usage is None:
            newer.usage = older.usage
        newer.has_turn_end |= older.has_turn_end

    def _settle_todos(self) -> None:
        """Add a todo list to the call before it."""
        older, newer = self._older, self._newer
        todo = newer.leading_todo
        if todo is not None and older.ended is not None:
            self._detach(todo)
            del newer.by_key[todo.key]
            older.ended.progress = todo.lines[0]  # before the merge: the newer part may start the call again
        if older.newest:
            newer.leading_todo = older.leading_todo
        if not newer.newest:
            newer.ended = older.ended  # there is nothing to merge then

    def _settle_messages(self) -> None:
        older, newer = self._older, self._newer
        for block in older.by_key.values():
            if isinstance(block, UserMessage) and block not in self._merged and block.message_id in newer.states:
                block.state, block.reason = newer.states.pop(block.message_id)
        newer.states = older.states | newer.states

    def _settle_prompts(self) -> None:
        older, newer = self._older, self._newer
        for request_id, asked in older.asked.items():
            now = [self._now(block) for block in asked]
            mine = [block for block in now if isinstance(block, PromptBlock)]
            if outcome := newer.outcomes.get(request_id):
                for block in mine:
                    outcome.settle(block)
            others = [block for block in newer.asked.get(request_id, ()) if block not in mine]
            newer.asked[request_id] = mine + others
        for request_id, outcome in older.outcomes.items():
            if request_id in newer.outcomes:
                continue
            newer.outcomes[request_id] = outcome
            for block in newer.asked.get(request_id, ()):
                outcome.settle(block)
                newer.touch(block)


def _continue_block(beginning: Block, rest: Block) -> None:
    """Add to a block what earlier events contain."""
    rest.key, rest.first, rest.parent_id = beginning.key, beginning.first, beginning.parent_id
    match rest, beginning:
        case AgentText(), AgentText() if not rest.is_settled:
            if beginning.is_settled:
                rest.pieces, rest.is_settled, rest.is_partial = beginning.pieces, True, beginning.is_partial
            else:
                rest.pieces = beginning.pieces + rest.pieces
        case ToolCallBlock(), ToolCallBlock() if not rest.is_called:
            rest.is_called, rest.name, rest.input_summary = beginning.is_called, beginning.name, beginning.input_summary
            rest.input_json, rest.description = beginning.input_json, beginning.description
            rest.cuts = start_cuts(beginning) + rest.cuts
            rest.progress = rest.progress or beginning.progress
        case UserMessage(), UserMessage():
            rest.text, rest.client_id, rest.by = beginning.text, beginning.client_id, beginning.by
            rest.attachments = beginning.attachments
            if rest.state == v1.MESSAGE_STATE_ACCEPTED and not rest.reason:
                rest.state, rest.reason = beginning.state, beginning.reason
        case PromptBlock(), PromptBlock():
            rest.title, rest.is_question = beginning.title, beginning.is_question
        case _:
            pass


def _remove(blocks: list[Block], block: Block) -> None:
    at = bisect_left(blocks, block.first, key=_began)
    while blocks[at] is not block:
        at += 1
    del blocks[at]


def _began(block: Block) -> int:
    return block.first
