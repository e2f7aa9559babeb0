"""Telemetry for operators: the format, destination and size limit of the log, metrics and traces."""

from betcode.telemetry.logs import TRACE, set_log_level, set_up_logging

__all__ = ["TRACE", "set_log_level", "set_up_logging"]
