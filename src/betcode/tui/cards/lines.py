"""Builds the lines of a card. All text from an agent is sanitized here."""

from collections.abc import Iterable, Sequence

from betcode.tui.cards.changes import Change, changes_of
from betcode.tui.widgets.line_view import LineKind, ViewLine
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Permission, asks_each_time, fields_of, input_lines, why
from betcode.wording.terminal_text import clean, one_line, tool_called

_SHOWN_LINES = 400
_SHOWN_LETTERS = 40_000
_TITLE_WIDTH = 2000
_PATTERN_WIDTH = 400
_GONE = "The agent has exited. It gets your answer when it restarts"


_KINDS = {"+": LineKind.ADDED, "-": LineKind.REMOVED, "@": LineKind.PLACE}


def permission_lines(prompt: v1.PendingPrompt, *, whole: bool = False, on_disk: str | None = None) -> list[ViewLine]:
    """Return the request, its reason and its effect; `on_disk` is the current text of the file, if known."""
    request = prompt.permission
    asked = Permission(request)
    if asked.is_of_budget:
        return [*_lines(request.description, LineKind.TITLE), *_gone(prompt)]
    title = "The agent asks you to approve its plan" if asked.is_plan else tool_called(request.tool_name)
    purpose = one_line(request.description, _TITLE_WIDTH)
    lines = [ViewLine(f"{title}: {purpose}" if purpose else title, LineKind.TITLE)]
    if request.note:
        lines.append(ViewLine(f"Note: {one_line(request.note, _TITLE_WIDTH)}", LineKind.NOTE))
    lines += _gone(prompt)
    if whole:
        return [*lines, *_why(asked), *(piece for line in input_lines(request, whole=True) for piece in _lines(line))]
    if isinstance(command := fields_of(request.input_json).get("command"), str):
        return [*lines, *_bounded(_command(request, command)), *_why(asked)]  # first, for small screens
    return [*lines, *_why(asked), *_bounded(_details(asked, on_disk))]


def _why(asked: Permission) -> Iterable[ViewLine]:
    request = asked.request
    if request.agent_id:
        yield ViewLine(f"Requested by the subagent {one_line(request.agent_id, _PATTERN_WIDTH)}", LineKind.DIM)
    if request.deciding_rule and not asked.is_plan:
        yield ViewLine(f"Reason: {why(request)}", LineKind.DIM)


def _details(asked: Permission, on_disk: str | None) -> Iterable[ViewLine]:
    request = asked.request
    fields = fields_of(request.input_json)
    if asked.is_plan and isinstance(plan := fields.get("plan"), str):
        return _lines(plan)
    if changes := changes_of(request.tool_name, fields, on_disk):
        return _changed(changes)
    return (piece for line in input_lines(request, whole=False) for piece in _lines(line))


def _command(request: v1.PermissionRequest, command: str) -> Iterable[ViewLine]:
    """Yield the command and the simple commands in it."""
    for number, line in enumerate(clean(command).split("\n")):
        yield ViewLine(f"  {line}" if number else f"$ {line}")
    if len(request.segments) > 1:
        yield ViewLine(f"{len(request.segments)} commands:", LineKind.DIM)
        for segment in request.segments:
            yield ViewLine(f"  • {one_line(segment, _TITLE_WIDTH)}")
    for name, value in fields_of(request.input_json).items():
        if name not in ("command", "description"):
            yield ViewLine(f"{one_line(name, 60)}: {one_line(str(value), 200)}", LineKind.DIM)


def _changed(changes: Sequence[Change]) -> Iterable[ViewLine]:
    for change in changes:
        yield ViewLine(one_line(change.title, _TITLE_WIDTH), LineKind.DIM)
        for text in change.diff:
            yield ViewLine(clean(text).replace("\n", "␊"), _KINDS.get(text[:1], LineKind.PLAIN))


def _bounded(lines: Iterable[ViewLine]) -> Iterable[ViewLine]:
    letters = 0
    for number, line in enumerate(lines):
        letters += len(line.text)
        if number >= _SHOWN_LINES or letters > _SHOWN_LETTERS:
            yield ViewLine(line.text[: max(_SHOWN_LETTERS + len(line.text) - letters, 0)], line.kind)
            yield ViewLine("… v shows all", LineKind.NOTE)
            return
        yield line


def pattern_lines(request: v1.PermissionRequest) -> list[ViewLine]:
    """Return the numbered rules that can be granted for the rest of the session."""
    lines = [ViewLine("Don't ask again in this session for:", LineKind.TITLE)]
    if asks_each_time(request):
        lines.append(ViewLine("a rule asks every time, even after a grant", LineKind.NOTE))
    for number, offer in enumerate(request.grant_offers, 1):
        label = f"{one_line(offer.label, 60)}: " if offer.label else ""
        lines.append(ViewLine(f"{number if number < 10 else ' '}  {label}{one_line(offer.pattern, _PATTERN_WIDTH)}"))
    return lines


def question_lines(
    prompt: v1.PendingPrompt, question: v1.UserQuestion, cursor: int, chosen: frozenset[int]
) -> list[ViewLine]:
    """Return the question and its options, with the selection and the cursor."""
    header = f"{one_line(question.header, 100)}: " if question.header else ""
    count = len(prompt.questions.questions)
    position = [each.question_id for each in prompt.questions.questions].index(question.question_id) + 1
    lines = [ViewLine(f"question {position} of {count}", LineKind.DIM)] if count > 1 else []
    lines.append(ViewLine(f"{header}{one_line(question.question, _TITLE_WIDTH)}", LineKind.TITLE))
    if question.note:
        lines.append(ViewLine(f"Note: {one_line(question.note, _TITLE_WIDTH)}", LineKind.NOTE))
    lines += _gone(prompt)
    for number, option in enumerate(question.options):
        box = ("☑ " if number in chosen else "☐ ") if question.multi_select else ""
        mark = "▸" if number == cursor else " "
        label = one_line(option.label or option.value, _PATTERN_WIDTH)
        lines.append(
            ViewLine(f"{mark}{number + 1} {box}{label}", LineKind.CHOSEN if number == cursor else LineKind.PLAIN)
        )
        if option.description:
            lines.append(ViewLine(f"     {one_line(option.description, _TITLE_WIDTH)}", LineKind.DIM))
    return lines


def _gone(prompt: v1.PendingPrompt) -> list[ViewLine]:
    return [ViewLine(_GONE, LineKind.NOTE)] if prompt.agent_is_gone else []


def _lines(text: str, kind: LineKind = LineKind.PLAIN) -> list[ViewLine]:
    return [ViewLine(line, kind) for line in clean(text).split("\n")]
