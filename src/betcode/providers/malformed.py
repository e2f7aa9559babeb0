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
_STORED_ERRORS = 5
_ERROR_NOTICES = 20  # of one run


def say_malformed(builder: EventBuilder[StateT], what: str, raw: bytes) -> None:
    """Add a notice with the beginning of the line."""
    excerpt = raw[: 4 * EXCERPT].decode(errors="replace")
    builder.notice(v1.NOTICE_KIND_MALFORMED, f"The agent: {what}", excerpt=shortened(excerpt, EXCERPT))


def on_malformed(frame: Malformed, builder: EventBuilder[StateT]) -> None:
    """Report the first of consecutive malformed lines, and count the others."""
    builder.state.bad_lines += 1
    logger.warning("a line of the agent cannot be decoded: %s", frame.reason)
    if builder.state.bad_lines == 1:
        say_malformed(builder, f"a line cannot be decoded ({shortened(frame.reason, EXCERPT)})", frame.raw)


def end_bad_lines(builder: EventBuilder[StateT]) -> None:
    """Report how many more lines were malformed, now that one can be read again."""
    more = builder.state.bad_lines - 1
    builder.state.bad_lines = 0
    if more > 0:
        builder.notice(v1.NOTICE_KIND_MALFORMED, f"The agent: {more} more lines could not be decoded", lines=str(more))


def say_too_long(record: Record, builder: EventBuilder[StateT]) -> int:
    """Report a line over the limit. Return its known size."""
    size = max(record.end - record.offset, len(record.data))
    say_malformed(builder, f"a line of about {size} bytes is over the limit and was skipped", record.data)
    return size


def say_damaged(record: Record, builder: EventBuilder[StateT]) -> None:
    """Add a gap for lost records of the journal."""
    gap = builder.new_event().gap
    gap.reason = record.data.decode(errors="replace")[:LONGEST_ERROR]
    gap.bytes_lost = max(record.end - record.offset, 0)


def error_text(record: Record) -> str:
    """Return the beginning of a line of stderr."""
    return record.data[: 4 * LONGEST_ERROR].decode(errors="replace").strip()


def on_error_line(text: str, builder: EventBuilder[StateT], *, shown: bool = True) -> None:
    """Store a line of stderr to explain the agent's exit. The first lines of a run are also notices."""
    line = shortened(text, LONGEST_ERROR)
    if not line:
        return
    state = builder.state
    state.errors = [*state.errors, line][-_STORED_ERRORS:]
    if shown and state.error_notices < _ERROR_NOTICES:
        state.error_notices += 1
        builder.notice(v1.NOTICE_KIND_AGENT, line, stream="stderr")
    else:
        logger.debug("stderr: %s", line)
