"""Log an agent's records: a summary at debug level, the full lines at trace level only."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.telemetry.logs import TRACE

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_LONGEST_LINE = 16 * 1024  # bytes that are shown of one


def log_records(session: LiveSession, records: Sequence[Record]) -> None:
    """Count the lines, and log what came: once for all of them, and each only where somebody wants raw lines."""
    lines = sum(record.kind is RecordKind.OUT for record in records)
    session.context.counts.messages_processed += lines
    if not logger.isEnabledFor(logging.DEBUG):
        return
    kinds = Counter(record.kind.value for record in records)
    size = sum(len(record.data) for record in records)
    came = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    logger.debug("records of the agent: %s", came, extra=session.log_extra | {"lines": lines, "bytes": size})
    if not logger.isEnabledFor(TRACE):
        return
    for record in records:
        shown = record.data[:_LONGEST_LINE].decode(errors="replace").rstrip("\n")
        facts = session.log_extra | {"offset": record.offset, "bytes": len(record.data)}
        logger.log(TRACE, "%s %s", record.kind.value, shown, extra=facts)
