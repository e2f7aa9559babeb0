"""Reports agent output that is not a message: malformed and oversized lines, stderr, and journal damage."""

import logging

from betcode.domain.runs.journal_record import Record
from betcode.domain.values.text import shortened
from betcode.providers.event_builder import EventBuilder, StateT
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed

logger = logging.getLogger(__name__)

EXCERPT = 200
LONGEST_ERROR = 500
_ERRORS_KEPT = 5
_ERROR_NOTICES = 20  # of one run


def say_malformed(builder: EventBuilder[StateT], what: str, raw: bytes) -> None:
    """A notice with the beginning of what it is about."""
    excerpt = raw[: 4 * EXCERPT].decode(errors="replace")
    builder.notice(v1.NOTICE_KIND_MALFORMED, f"The agent: {what}", excerpt=shortened(excerpt, EXCERPT))


def on_malformed(frame: Malformed, builder: EventBuilder[StateT]) -> None:
    """The first of a run of broken lines is told at once, the others are counted."""
    builder.state.bad_lines += 1
    logger.warning("a line of the agent cannot be decoded: %s", frame.reason)
    if builder.state.bad_lines == 1:
        say_malformed(builder, f"a line cannot be decoded ({shortened(frame.reason, EXCERPT)})", frame.raw)


def end_bad_lines(builder: EventBuilder[StateT]) -> None:
    """A line could be read again: say how many could not."""
    more = builder.state.bad_lines - 1
    builder.state.bad_lines = 0
    if more > 0:
        builder.notice(v1.NOTICE_KIND_MALFORMED, f"The agent: {more} more lines could not be decoded", lines=str(more))


def say_too_long(record: Record, builder: EventBuilder[StateT]) -> int:
    """Tell of a line over the limit; its size, as far as it is known."""
    size = max(record.end - record.offset, len(record.data))
    say_malformed(builder, f"a line of about {size} bytes is over the limit and was skipped", record.data)
    return size


def say_damaged(record: Record, builder: EventBuilder[StateT]) -> None:
    """The journal has lost something here."""
    gap = builder.new_event().gap
    gap.reason = record.data.decode(errors="replace")[:LONGEST_ERROR]
    gap.bytes_lost = max(record.end - record.offset, 0)


def error_text(record: Record) -> str:
    """A line of stderr, as much of it as is looked at."""
    return record.data[: 4 * LONGEST_ERROR].decode(errors="replace").strip()


def on_error_line(text: str, builder: EventBuilder[StateT], *, tells: bool = True) -> None:
    """Kept for whoever explains the agent's end, and told while there are few."""
    said = shortened(text, LONGEST_ERROR)
    if not said:
        return
    state = builder.state
    state.errors = [*state.errors, said][-_ERRORS_KEPT:]
    if tells and state.error_notices < _ERROR_NOTICES:
        state.error_notices += 1
        builder.notice(v1.NOTICE_KIND_AGENT, said, stream="stderr")
    else:
        logger.debug("stderr: %s", said)
