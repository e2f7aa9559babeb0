"""Parse and print points in time."""

from datetime import datetime

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.config.units import NotUnderstood, duration_s


def moment_ns(option: str, text: str, now_ns: int) -> int:
    """Parse "30d" (that long ago), "2026-11-01" or "2026-11-01T12:30" (local time, unless a zone is given).

    Raises:
        CommandFailed: the text has another form.
    """
    try:
        return max(0, now_ns - int(duration_s(text) * 1e9))
    except NotUnderstood:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return max(0, int(moment.astimezone().timestamp() * 1e9))
    except (ValueError, OverflowError, OSError):
        raise CommandFailed(
            f'{option} {text!r} is neither an age such as "30d" or "2h" nor a date such as 2026-11-01',
            ExitCode.INVALID_ARGUMENTS,
        ) from None
