"""Delete old reports of other programs."""

import logging

import anyio

from betcode.domain.errors import BetcodeError
from betcode.domain.obey.activities import ReportStore
from betcode.util import wall_clock

logger = logging.getLogger(__name__)

_EVENTS_RETENTION_NS = 7 * 86400 * 10**9
_ACTIVITIES_RETENTION_NS = 30 * 86400 * 10**9
_EVERY_S = 3600.0


async def run_report_retention(reports: ReportStore) -> None:
    """Delete expired reports periodically."""
    while True:
        try:
            now_ns = wall_clock.now_ns()
            while deleted := await reports.forget_reports(
                now_ns - _EVENTS_RETENTION_NS, now_ns - _ACTIVITIES_RETENTION_NS
            ):
                logger.info("deleted %d old reports", deleted)
        except BetcodeError as trouble:
            logger.warning("old reports could not be deleted: %s", trouble)
        await anyio.sleep(_EVERY_S)
