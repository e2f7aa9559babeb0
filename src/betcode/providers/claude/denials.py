"""Determines who denied a tool call, from the agent's note beside the tool's result."""

import re

import msgspec
from msgspec import Raw, Struct

_SAID_NO = "reject"
_BY = {"user_reject": "answer", "hook": "hook", "config": "agent"}
_BROKEN_OFF = "other"  # nobody denied it: the agent could not ask

_DISABLED = re.compile(r"No such tool available: ([^\s.]+)\. \1 is disabled for this session\b")

_ABOUT_TRUST = re.compile(r"^Ignoring \d+ \S+ entr(?:y|ies) from \.claude/.*: this workspace has not been trusted\.")


class _Decision(Struct):
    decision: str | None = None
    source: str | None = None
    reason_type: str | None = None


class _Meta(Struct):
    id: str = ""
    permission_decision: _Decision | None = None


_decode = msgspec.json.Decoder(list[_Meta], strict=False).decode


def is_about_trust(line: str) -> bool:
    """Whether Claude Code says that its own list of trusted projects lacks this one.

    Trust is given here: where there is none, the agent is started without the project's files, and has none to ignore.
    Where there is, the project's allow rules count here, and the advice to give trust a second time is wrong.
    """
    return _ABOUT_TRUST.search(line) is not None


def is_disabled(output: str) -> bool:
    """Whether the model used a tool that its program took away, by a rule or because it does not offer it at all."""
    return _DISABLED.search(output) is not None


def denied_by(tool_id: str, noted: Raw) -> str:
    """ "answer" to a request, "hook", or "agent": by itself; empty where it was not denied, or nobody can tell."""
    try:
        decisions = {meta.id: meta.permission_decision for meta in _decode(noted)}
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
    found = decisions.get(tool_id)
    if found is None or found.decision != _SAID_NO or found.reason_type == _BROKEN_OFF:
        return ""
    return _BY.get(found.source or "", "")
