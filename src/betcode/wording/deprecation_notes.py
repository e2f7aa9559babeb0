"""Deprecation warnings as text, each shown once, more urgent when removal is near."""

import logging

from betcode.v1 import version_pb2 as v1
from betcode.wording.terminal_text import one_line

logger = logging.getLogger(__name__)

_WIDTH = 200


class DeprecationNotes:
    """Remembers the warnings that were shown."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def lines(self, warning: v1.DeprecationWarning) -> list[str]:
        """Return the lines to show; none for a distant removal or a repeated warning."""
        if warning.feature in self._shown:
            return []
        self._shown.add(warning.feature)
        what = one_line(warning.feature, _WIDTH)
        instead = f" Use {one_line(warning.replacement, _WIDTH)} instead." if warning.replacement else ""
        end, guide = one_line(warning.removal_version, _WIDTH), one_line(warning.migration_url, _WIDTH)
        match warning.severity:
            case v1.URGENT:
                return [
                    "ACTION REQUIRED",
                    f"  {what} will stop working in {end}.{instead}",
                    f"  How to migrate: {guide}",
                ]
            case v1.WARNING:
                return [f"{what} is deprecated and will be removed in {end}.{instead} See {guide}"]
            case _:
                logger.info("%s is deprecated and will be removed in %s", what, end)
                return []
