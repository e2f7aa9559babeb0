"""Renders a tool call: one line that expands to input, output, changes and subagent."""

import json
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from betcode.tui.model.blocks import AgentText, AgentThinking, Block, ToolCallBlock, ToolState
from betcode.tui.view.block_lines import GUTTER, NOTHING, Canvas, Drawing, DrawnPart, truncation_note
from betcode.tui.view.code import code_lines, language_of
from betcode.tui.view.diff_lines import diff_lines, patch_lines
from betcode.tui.view.spans import Line, Span, cut, cut_line, fold, indented, joined, shown, wrap
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import without_marks

_STATES: dict[ToolState, Span] = {
    ToolState.RUNNING: ("● ", "running"),
    ToolState.DONE: ("✓ ", "good"),
    ToolState.FAILED: ("✗ ", "bad"),
    ToolState.DENIED: ("⊘ ", "bad"),
    ToolState.BROKEN_OFF: ("◌ ", "quiet"),
}
_STATE_TEXTS = {ToolState.FAILED: "failed", ToolState.DENIED: "denied", ToolState.BROKEN_OFF: "interrupted"}
# Lines shown at the beginning and at the end, by the level of expansion.
_ENDS = ((8, 8), (200, 200), (2000, 2000))
_WHOLE = 20_000  # characters; a longer output is read only in part
_CHILDREN = (50, 500, 5000)


def draw_tool(block: ToolCallBlock, canvas: Canvas) -> Drawing:
    """Draw the call; folded it is one line, and another one if a subagent works or the call failed."""
    level = canvas.opened.get(block.key, 0)
    drawing = Drawing([_headline(block, canvas.width)], [DrawnPart(0, block.key, opens=True, block=block)])
    if not level:
        drawing.lines += _folded(block, canvas.width)
        return drawing
    _add(drawing, "input", _input_lines(block, canvas.width - 2 * GUTTER), block, canvas)
    _add_children(drawing, block, canvas)
    if block.output:
        drawing.lines.append(_label("output" if block.shown_state is ToolState.DONE else "error", canvas.width))
        style = "" if block.shown_state is ToolState.DONE else "bad"
        _add_output(drawing, block, canvas, style)
    drawing.lines += truncation_note(block, canvas.width)
    return drawing


def _headline(block: ToolCallBlock, width: int) -> Line:
    glyph = _STATES[block.shown_state]
    facts = [_STATE_TEXTS.get(block.shown_state, "")]
    if block.denied_by:
        facts.append(f"by {shown(block.denied_by)}")
    if block.duration_ms >= 100:
        facts.append(took(block.duration_ms))
    tail = cut(" ".join(fact for fact in facts if fact), width // 2)
    name = cut(shown(block.name), max(width // 2, 8))
    available = width - GUTTER - cell_len(name) - 1 - (cell_len(tail) + 2 if tail else 0)
    summary = " · ".join(filter(None, (block.input_summary or block.description, block.progress)))
    summary = cut(shown(summary), max(available, 0)) if available > 3 else ""
    spans = [
        glyph,
        (name, "tool"),
        (f" {summary}" if summary else "", ""),
        (f"  {tail}" if tail else "", "quiet"),
    ]
    return cut_line([span for span in spans if span[0]], width)


def took(duration_ms: int) -> str:
    """Return the duration, as short as possible."""
    seconds = duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _folded(block: ToolCallBlock, width: int) -> list[Line]:
    if block.children:
        steps = sum(isinstance(child, ToolCallBlock) for child in block.children) or len(block.children)
        head = f"└ {steps} {'step' if steps == 1 else 'steps'}"
        last = _last_line(block.children[-1], width)
        return [cut_line([NOTHING, (head, "quiet"), (f" · {last}" if last else "", "quiet")], width)]
    if block.shown_state is ToolState.FAILED and block.output:
        return [cut_line([NOTHING, ("└ ", "quiet"), (cut(shown(block.output[:2000]), width - 4), "bad")], width)]
    return []


def _last_line(block: Block, width: int) -> str:
    match block:
        case ToolCallBlock():
            return cut(shown(f"{block.name} {block.input_summary}"), width)
        case AgentThinking():
            return "thinking"
        case AgentText():
            text = "".join(block.pieces[-40:])[-width * 4 :].strip()
            return cut(shown(without_marks(text.rsplit("\n", 1)[-1])), width)
        case _:
            return ""


def _input_lines(block: ToolCallBlock, width: int) -> list[Line]:
    try:
        value = json.loads(block.input_json) if block.input_json else {}
    except ValueError:
        return [part for line in shown(block.input_json).split("\n") for part in fold([(line, "")], width)]
    if not isinstance(value, dict):
        value = {"input": value}
    fields = {str(name): each for name, each in value.items()}
    return [*_described(block, width), *_detail_lines(fields, width)]


def _described(block: ToolCallBlock, width: int) -> list[Line]:
    words = block.description
    return wrap([(shown(words), "quiet")], width) if words and words != block.input_summary else []


def _detail_lines(fields: dict[str, object], width: int) -> list[Line]:
    """Return the command, the change, and the other fields as JSON."""
    lines: list[Line] = []
    path = str(fields.get("file_path") or fields.get("path") or fields.get("notebook_path") or "")
    match fields:
        case {"old_string": str(old), "new_string": str(new)}:
            lines = diff_lines(old, new, width)
            used = {"old_string", "new_string"}
        case {"edits": list(edits)} if all(isinstance(edit, dict) for edit in edits):
            for edit in edits:
                lines += diff_lines(str(edit.get("old_string", "")), str(edit.get("new_string", "")), width)
            used = {"edits"}
        case {"content": str(content)} | {"new_source": str(content)} if path:
            lines = _written(content, language_of(path), width)
            used = {"content", "new_source"}
        case {"patch": str(patch)} | {"diff": str(patch)}:
            lines = patch_lines(patch, width)
            used = {"patch", "diff"}
        case {"command": str(command)}:
            lines = [part for line in code_lines(command, "bash") for part in fold(line, width)]
            used = {"command", "description"}
        case _:
            used = set()
    rest = {name: value for name, value in fields.items() if name not in used}
    return [*_as_json(rest, width), *lines] if rest else lines


def _written(content: str, language: str, width: int) -> list[Line]:
    bar = ("+ ", "added")
    return [(bar, *part) for line in code_lines(content, language) for part in fold(line, max(width - 2, 1))]


def _as_json(value: object, width: int) -> list[Line]:
    if isinstance(value, dict) and all(isinstance(field, str | int | float | bool) for field in value.values()):
        lines: list[Line] = []
        for name, field in value.items():
            text = shown(str(field))
            for number, line in enumerate(text.split("\n")):
                spans = [(f"{shown(str(name))}: ", "quiet")] if number == 0 else [("  ", "")]
                lines += fold(joined([*spans, (line, "")]), width)
        return lines
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return [part for line in code_lines(text, "json") for part in fold(line, width)]


def _add(drawing: Drawing, name: str, lines: Sequence[Line], block: ToolCallBlock, canvas: Canvas) -> None:
    """Add the first and the last lines, with an expandable part between them."""
    key = f"{block.key}/{name}"
    level = min(canvas.opened.get(key, 0), len(_ENDS) - 1)
    head, tail = _ENDS[level] if name != "input" or level else (30, 10)
    hidden = len(lines) - head - tail
    if hidden <= 1:
        drawing.lines += _inside(lines)
        return
    drawing.lines += _inside(lines[:head])
    opens = level < len(_ENDS) - 1
    drawing.parts.append(DrawnPart(len(drawing.lines), key, opens=opens, block=block))
    drawing.lines.append(_quiet(f"… {hidden:,} lines" + ("" if opens else " more than can be shown"), canvas.width))
    drawing.parts.append(DrawnPart(len(drawing.lines), block.key, opens=True, block=block))
    drawing.lines += _inside(lines[-tail:])


def _add_output(drawing: Drawing, block: ToolCallBlock, canvas: Canvas, style: str) -> None:
    """Add the output; of a long one, only the visible part is processed."""
    width = canvas.width - 2 * GUTTER
    level = min(canvas.opened.get(f"{block.key}/output", 0), len(_ENDS) - 1)
    text = block.output
    if len(text) <= _WHOLE:
        _add(drawing, "output", _output_lines(text.rstrip("\n"), style, width), block, canvas)
        return
    head, tail = _ENDS[level]
    # No line needs more characters than the width and one newline.
    first = _output_lines(text[: head * (width + 1)], style, width)[:head]
    last = _output_lines(text[-tail * (width + 1) :].rstrip("\n"), style, width)[-tail:]
    between = f"… {max(text.count(chr(10)) + 1 - head - tail, 1):,} lines, {readable(len(text))} in all"
    opens = level < len(_ENDS) - 1
    drawing.lines += _inside(first)
    drawing.parts.append(DrawnPart(len(drawing.lines), f"{block.key}/output", opens=opens, block=block))
    drawing.lines.append(_quiet(between, canvas.width))
    drawing.parts.append(DrawnPart(len(drawing.lines), block.key, opens=True, block=block))
    drawing.lines += _inside(last)


def _output_lines(text: str, style: str, width: int) -> list[Line]:
    return [part for line in shown(text).split("\n") for part in fold([(line, style)] if line else (), width)]


def _add_children(drawing: Drawing, block: ToolCallBlock, canvas: Canvas) -> None:
    key = f"{block.key}/steps"
    most = _CHILDREN[min(canvas.opened.get(key, 0), len(_CHILDREN) - 1)]
    hidden = len(block.children) - most
    if hidden > 0:
        drawing.parts.append(DrawnPart(len(drawing.lines), key, opens=True, block=block))
        drawing.lines.append(_quiet(f"… {hidden:,} earlier", canvas.width))
    bar = ("│ ", "nested")
    for child in block.children[-most:]:
        inner = canvas.child(child, canvas.width - GUTTER)
        start = len(drawing.lines)
        drawing.parts += [DrawnPart(part.start + start, part.key, part.opens, part.block) for part in inner.parts]
        drawing.lines += indented(inner.lines, bar, bar)
    if block.children:
        drawing.parts.append(DrawnPart(len(drawing.lines), block.key, opens=True, block=block))


def _inside(lines: Iterable[Line]) -> list[Line]:
    return [(NOTHING, ("▏ ", "quiet"), *line) for line in lines]


def _label(word: str, width: int) -> Line:
    return cut_line([NOTHING, (word, "quiet strong")], width)


def _quiet(words: str, width: int) -> Line:
    return cut_line([NOTHING, (words, "quiet")], width)
