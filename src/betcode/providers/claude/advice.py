"""Errors of Claude Code that a retry does not fix, each with advice for the person."""

import re
from collections.abc import Sequence
from dataclasses import replace

from betcode.domain.agents.agent_state import Failure

_GONE = Failure("Claude Code no longer has this conversation: start a new session (the history here stays)", False)
_NO_POINT = Failure(
    "the source session of this fork was compacted before the fork's first turn, and Claude Code cannot go back before "
    "that. Fork a later turn, or start a new session (this history stays)"
)
_TAKEN = Failure("Claude Code has a conversation under this id already: start a new session", True)
_OUTDATED = Failure("this version of Claude Code does not support an option that betcode needs: update it")
_LOGIN = Failure("log in: run `claude` once in a terminal, or set ANTHROPIC_API_KEY")
_KEY = Failure("the API key is not accepted: set a valid ANTHROPIC_API_KEY, or log in with `claude`")
_STILLBORN = Failure(
    "Claude Code could not start: read its output, and run `claude` in the same directory", did_nothing=True
)

FAILURES: Sequence[tuple[str, Failure]] = (
    (r"No conversation found with session ID", _GONE),
    (r"--resume requires a valid session ID", _GONE),
    (r"No message found with message\.uuid", _NO_POINT),
    (r"Session ID \S+ is already in use", _TAKEN),
    (r"Invalid session ID", Failure("Claude Code rejects this session's id: start a new session")),
    (r"^error: unknown option", _OUTDATED),
    (r"^error: option .* is invalid\. Allowed choices are", _OUTDATED),
    (
        r"cannot be used with root/sudo",
        Failure("Claude Code refuses this as root: run the daemon as another user, or without bypassing permissions"),
    ),
    (r"Not logged in", _LOGIN),
    (r"Please run /login", _LOGIN),
    (r"Invalid API key", _KEY),
    (r"API Error: 401\b", _KEY),
)
_KNOWN = tuple((re.compile(words), failure) for words, failure in FAILURES)


def failure_in(last_errors: Sequence[str], *, stillborn: bool = False) -> Failure | None:
    """Find the cause of an agent's exit in its last output; None if a retry may help."""
    for line in reversed(last_errors):
        for words, failure in _KNOWN:
            if words.search(line):
                return replace(failure, did_nothing=stillborn)
    return _STILLBORN if stillborn else None
