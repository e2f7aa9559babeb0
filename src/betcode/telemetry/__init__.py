"""What the daemon tells its operator: the log's format, where it goes and how large it may grow."""

from betcode.telemetry.logs import TRACE, set_log_level, set_up_logging

__all__ = ["TRACE", "set_log_level", "set_up_logging"]
