"""Renders a block as lines, and records which lines can be expanded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.cells import cell_len

from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    Block,
    NoticeBlock,
    PromptBlock,
    PromptState,
    Tone,
    ToolCallBlock,
    TurnEnd,
    UserMessage,
)
from betcode.tui.view.spans import Line, cut, cut_line, indented, shown, wrap
from betcode.v1 import agent_pb2 as v1
from betcode.wording.sizes import readable

GUTTER = 2  # columns before every line: a mark and a space
NOTHING = ("  ", "")
_MESSAGE_LIMIT = 20_000  # maximum characters of a message
_NOTICE_LIMIT = 4_000  # maximum characters of a notice


@dataclass(frozen=True, slots=True)
class DrawnPart:
    """Lines from `start` on belong to `key`; `opens` says whether they can be expanded or folded."""

    start: int
    key: str
    opens: bool = False
    block: Block | None = None  # its text is copied


@dataclass(slots=True)
class Drawing:
    """The lines of a block; every line begins with a gutter."""

    lines: list[Line] = field(default_factory=list)
    parts: list[DrawnPart] = field(default_factory=list)

    def part_at(self, line: int) -> DrawnPart | None:
        return next((part for part in reversed(self.parts) if part.start <= line), None)


@dataclass(frozen=True, slots=True)
class Canvas:
    """The parameters of a drawing besides its block."""

    width: int
    opened: Mapping[str, int]  # the level of expansion, by key
    text_lines: Callable[[AgentText, int], list[Line]]  # draws Markdown with its gutter, cached while it grows
    child: Callable[[Block, int], Drawing]  # draws a block inside another


def draw(block: Block, canvas: Canvas) -> Drawing:
    """Draw the block."""
    match block:
        case ToolCallBlock():
            from betcode.tui.view.tool_lines import draw_tool  # circular: it draws children with this function

            return draw_tool(block, canvas)
        case AgentThinking():
            return _thoughts(block, canvas)
        case AgentText():
            lines = canvas.text_lines(block, canvas.width)
            if block.is_partial and lines:
                lines.append(cut_line([NOTHING, ("… cut off here", "quiet")], canvas.width))
            lines += truncation_note(block, canvas.width)
            return Drawing(lines, [DrawnPart(0, block.key, block=block)]) if lines else Drawing()
        case UserMessage():
            return _user_message(block, canvas)
        case PromptBlock():
            return _prompt(block, canvas)
        case NoticeBlock():
            return _notice(block, canvas)
        case TurnEnd():
            return _turn_end(block, canvas)
        case _:
            return Drawing()


def truncation_note(block: Block, width: int) -> list[Line]:
    """Return the note that the block was too long for its event, and how to read all of it."""
    return [
        cut_line([NOTHING, (f"… {readable(hidden.size_bytes)} in all: v shows it", "quiet")], width)
        for hidden in block.cuts
    ]


def gap_before(block: Block, previous: Block | None) -> int:
    """Return the number of empty lines before a block: one-line blocks are not separated."""
    if previous is None or isinstance(block, TurnEnd):
        return 0
    return 0 if _is_short(block) and _is_short(previous) else 1


def estimated(block: Block, width: int) -> int:
    """Return an estimate of the number of lines, without drawing the block."""
    available = max(width - GUTTER, 10)
    match block:
        case AgentThinking() | ToolCallBlock() | TurnEnd() | PromptBlock():
            return 1
        case AgentText():
            return sum(len(piece) // available + piece.count("\n") for piece in block.pieces) + 1
        case UserMessage():
            return len(block.text) // available + block.text.count("\n") + 1
        case NoticeBlock():
            return max(len(block.lines), 1)
        case _:
            return 0


def text_of_block(block: Block) -> str:
    """Return the text to copy, not sanitized yet."""
    match block:
        case AgentText() | UserMessage():
            return block.text
        case ToolCallBlock():
            return "\n".join(part for part in (f"{block.name} {block.input_summary}".strip(), block.output) if part)
        case NoticeBlock():
            return "\n".join(block.lines)
        case PromptBlock():
            return "\n".join(part for part in (block.title, block.outcome) if part)
        case TurnEnd():
            return block.summary
        case _:
            return ""


def _is_short(block: Block) -> bool:
    """Whether the block has one line; empty text does not separate blocks."""
    return isinstance(block, ToolCallBlock | AgentThinking | PromptBlock | NoticeBlock) or (
        isinstance(block, AgentText) and block.is_settled and not block.text
    )


# Delivery needs no mark: the answer shows it, and a waiting message is shown above the draft.
_STATES: dict[v1.MessageState.ValueType, tuple[str, str]] = {
    v1.MESSAGE_STATE_ACCEPTED: ("queued", "quiet"),
    v1.MESSAGE_STATE_CANCELLED: ("cancelled", "bad"),
    v1.MESSAGE_STATE_UNKNOWN: ("delivery unknown", "bad"),
}
_REASONS = {"withdrawn": "withdrawn", "cancelled": "cancelled"}


def _user_message(block: UserMessage, canvas: Canvas) -> Drawing:
    available = canvas.width - GUTTER
    text = shown(block.text[:_MESSAGE_LIMIT])
    styled = [part for line in text.split("\n") for part in wrap([(line, "said")], available)]
    if len(block.text) > _MESSAGE_LIMIT:
        styled.append(((f"… {len(block.text) - _MESSAGE_LIMIT:,} characters more", "quiet"),))
    styled += [((cut(f"⎘ {shown(name)}", available), "attachment"),) for name in block.attachments]
    lines = list(indented(styled, ("> ", "said mark"), NOTHING))
    lines += truncation_note(block, canvas.width)
    words, style = _STATES.get(block.state, ("", "quiet"))
    if words and block.reason:
        words = _REASONS.get(block.reason) or f"{words}: {shown(block.reason)}"
    facts = [f"typed by {shown(block.by)}" if block.by else "", words]
    if any(facts):
        lines += indented(
            wrap([(f"({', '.join(fact for fact in facts if fact)})", style)], available), NOTHING, NOTHING
        )
    return Drawing(lines, [DrawnPart(0, block.key, block=block)])


def _thoughts(block: AgentThinking, canvas: Canvas) -> Drawing:
    available = canvas.width - GUTTER
    text = block.text
    if block.is_settled and not text.strip():
        return Drawing()
    verb = "thought" if block.is_settled else "thinking"
    head = f"{verb}, {_counted(text)}"
    if canvas.opened.get(block.key):
        lines: list[Line] = [
            (("▾ ", "thought"), (cut(head, available), "thought")),
            *canvas.text_lines(block, canvas.width),
        ]
    else:
        rest = cut(
            shown(text[-available * 4 :] if not block.is_settled else text[: available * 4]),
            max(available - len(head) - 2, 0),
        )
        lines = [cut_line([("▸ ", "thought"), (head, "thought"), (f"  {rest}", "thought quiet")], canvas.width)]
    return Drawing(lines, [DrawnPart(0, block.key, opens=True, block=block)])


def _counted(text: str) -> str:
    if len(text) > _MESSAGE_LIMIT:
        return f"about {len(text) // 6:,} words"
    words = len(text.split())
    return "1 word" if words == 1 else f"{words:,} words"


_PROMPT_MARKS = {
    PromptState.OPEN: ("? ", "notable"),
    PromptState.ALLOWED: ("✓ ", "good"),
    PromptState.DENIED: ("⊘ ", "bad"),
    PromptState.ANSWERED: ("✓ ", "good"),
    PromptState.GONE: ("◌ ", "quiet"),
}


def _prompt(block: PromptBlock, canvas: Canvas) -> Drawing:
    title, outcome = shown(block.title[:_NOTICE_LIMIT]), shown(block.outcome[:_NOTICE_LIMIT])
    spans = [(title, ""), (": " if title and outcome else "", "quiet")]
    spans.append((outcome, "strong") if outcome else (" waiting for an answer", "notable"))
    lines = wrap([span for span in spans if span[0]], canvas.width - GUTTER)
    return Drawing(list(indented(lines, _PROMPT_MARKS[block.state], NOTHING)), [DrawnPart(0, block.key, block=block)])


_TONES = {Tone.QUIET: ("· ", "quiet"), Tone.NOTABLE: ("! ", "notable"), Tone.BAD: ("✗ ", "bad")}


def _notice(block: NoticeBlock, canvas: Canvas) -> Drawing:
    mark, style = _TONES[block.tone]
    lines: list[Line] = []
    for text in block.lines:
        wrapped = [
            part
            for line in shown(text[:_NOTICE_LIMIT]).split("\n")
            for part in wrap([(line, style)], canvas.width - GUTTER)
        ]
        lines += indented(wrapped, (mark, style), NOTHING)
    return Drawing(lines, [DrawnPart(0, block.key, block=block)])


def _turn_end(block: TurnEnd, canvas: Canvas) -> Drawing:
    reason = "" if block.stop_reason in ("", "end_turn", "success", "completed") else block.stop_reason
    words = cut(shown(" · ".join(part for part in (reason, block.summary) if part)), canvas.width - 6)
    head = f"── {words} " if words else "──"
    rest = "─" * max(min(canvas.width, 100) - cell_len(head) - 1, 0)
    return Drawing([((head, "rule"), (rest, "rule"))], [DrawnPart(0, block.key, block=block)])
