"""Whether an agent can work in a session's directory: examined off the event loop, for a bounded time."""

import stat
from functools import partial
from pathlib import Path

from betcode.domain.bounded_io import BoundedIOPort, FilesystemTimeout

_ELSEWHERE = "or start a new session elsewhere"


async def directory_advice(file_io: BoundedIOPort, directory: str) -> str:
    """What to do about the directory before an agent can start there; empty: nothing, it is usable."""
    try:
        return await file_io.run(directory, partial(_advice, directory))
    except FilesystemTimeout as no_answer:
        return (
            f"its working directory {directory!r} does not answer ({no_answer}): check the mount, then send the "
            f"message again, {_ELSEWHERE}"
        )


def _advice(directory: str) -> str:
    try:
        facts = Path(directory).stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"its working directory {directory!r} is gone: make it again, {_ELSEWHERE}"
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) and trouble.strerror else str(trouble)
        return (
            f"its working directory {directory!r} cannot be used ({reason}): check its permissions and its mount, "
            f"{_ELSEWHERE}"
        )
    if not stat.S_ISDIR(facts.st_mode):
        return f"its working directory {directory!r} is not a directory any more: make it again, {_ELSEWHERE}"
    return ""
