"""The size limit of the database: warn in time, and reject only new work when it is full."""

import logging

from betcode.config.units import short_size
from betcode.domain.errors import StorageDegraded

logger = logging.getLogger(__name__)

_WARN_FROM = 0.8


class DatabaseQuota:
    """What agents at work say is always written; only new sessions and messages are refused past the limit."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.limit_bytes = 0  # 0: none
        self.warning = ""  # one sentence, from 80 % of the limit on

    @property
    def is_full(self) -> bool:
        return bool(self.limit_bytes) and self.used_bytes >= self.limit_bytes

    def note(self, used_bytes: int, limit_bytes: int) -> None:
        """What was measured; a change for the worse is logged once."""
        had_warned, was_full = bool(self.warning), self.is_full
        self.used_bytes, self.limit_bytes = used_bytes, limit_bytes
        percent = 100 * used_bytes // limit_bytes if limit_bytes else 0
        self.warning = (
            f"The database uses {percent} % of daemon.database_limit ({short_size(limit_bytes)})"
            if limit_bytes and used_bytes >= _WARN_FROM * limit_bytes
            else ""
        )
        if self.is_full and not was_full:
            logger.error("%s: new sessions and messages are refused", self.warning)
        elif self.warning and not had_warned:
            logger.warning("%s; `betcode db usage` lists the largest sessions", self.warning)

    @property
    def refusal(self) -> StorageDegraded | None:
        """The error for new sessions and messages while the database is full; None while it is not."""
        if not self.is_full:
            return None
        return StorageDegraded(
            f"{self.warning}: delete sessions (`betcode db usage` shows the largest, `betcode db prune` old ones) "
            "or raise the limit",
            reason="database limit",
        )

    def refuse_when_full(self) -> None:
        """Raises StorageDegraded where nothing more may be begun."""
        if (refusal := self.refusal) is not None:
            raise refusal
