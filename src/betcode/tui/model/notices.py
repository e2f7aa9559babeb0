"""The text and the tone of notices in a conversation."""

from collections.abc import Mapping

from betcode.tui.model.blocks import Tone
from betcode.v1 import agent_pb2 as v1
from betcode.wording.deprecation_notes import DeprecationNotes
from betcode.wording.render import remark

_OF_KINDS: Mapping[str, Tone] = {
    "error": Tone.BAD,
    "gap": Tone.BAD,
    "compaction": Tone.NOTABLE,
    "deprecation": Tone.NOTABLE,
    "plan_mode": Tone.QUIET,
    "permission_reminder": Tone.QUIET,
}
_OF_NOTICES: Mapping[v1.NoticeKind.ValueType, Tone] = {
    v1.NOTICE_KIND_API_RETRY: Tone.QUIET,
    v1.NOTICE_KIND_DEGRADED: Tone.BAD,
    v1.NOTICE_KIND_MALFORMED: Tone.NOTABLE,
    v1.NOTICE_KIND_BACKGROUND: Tone.QUIET,
    v1.NOTICE_KIND_AGENT: Tone.QUIET,
    v1.NOTICE_KIND_RUN: Tone.NOTABLE,
    v1.NOTICE_KIND_BUDGET: Tone.NOTABLE,
    v1.NOTICE_KIND_FORK: Tone.NOTABLE,
    v1.NOTICE_KIND_GRANT: Tone.QUIET,
}
_OF_LEVELS: Mapping[str, Tone] = {"warning": Tone.NOTABLE, "error": Tone.BAD}  # by the level of an agent's notice


def notice_lines(event: v1.AgentEvent) -> tuple[tuple[str, ...], Tone]:
    """Return the lines of an event, none if it needs no notice, and their tone."""
    kind = event.WhichOneof("event")
    tone = _tone_of(event.notice) if kind == "notice" else _OF_KINDS.get(kind or "", Tone.QUIET)
    return tuple(line for text in _lines_of(event) for line in text.split("\n")), tone


def _lines_of(event: v1.AgentEvent) -> list[str]:
    match event.WhichOneof("event"):
        case "deprecation":
            return DeprecationNotes().lines(event.deprecation)
        case _:
            return remark(event)


def _tone_of(notice: v1.Notice) -> Tone:
    if notice.kind == v1.NOTICE_KIND_DEGRADED and notice.details.get("degraded") == "false":
        return Tone.QUIET
    return _OF_LEVELS.get(notice.details.get("level", ""), _OF_NOTICES.get(notice.kind, Tone.QUIET))
