"""Opens entries of the state directory: never blocks on an entry of another type, never reads without a limit.

Anything may stand under a name in the state directory: a FIFO, a device, a directory, a symbolic link to itself, an
entry of another user. Each of them is one typed error here, `UnusableEntry`, whose text is a clause about the entry
("`lock` is a FIFO"). A missing entry stays `FileNotFoundError`, and a shortage of descriptors or memory stays the
`OSError` that it is: neither says anything about the entry.
"""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH119, PTH208

import errno
import os
import stat

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EINTR})
_TYPES = (
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
_LONGEST_NAME = 80
SET_ASIDE = ".unusable-"  # between the name of an entry that `set_aside` renamed and a number


class UnusableEntry(OSError):
    """An entry of the state directory that cannot be used; the text is a clause that names it and says why."""


def open_file(path: "str | os.PathLike[str]", flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; with O_CREAT the file is private. Does not block and follows no link.

    Raises: FileNotFoundError, UnusableEntry, OSError for a shortage.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY, 0o600)
    except OSError as error:
        raise _explained(path, error, stat.S_IFREG) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnusableEntry(f"`{shown(path)}` is {type_of(mode)}, not a regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: "str | os.PathLike[str]", limit_bytes: int) -> bytes:
    """The whole of a regular file.

    Raises: FileNotFoundError, UnusableEntry, also when it is longer than the limit, OSError for a shortage.
    """
    descriptor = open_file(path)
    try:
        data = b""
        while len(data) <= limit_bytes and (piece := os.read(descriptor, limit_bytes + 1 - len(data))):
            data += piece
    except OSError as error:
        raise _explained(path, error, stat.S_IFREG) from error
    finally:
        os.close(descriptor)
    if len(data) > limit_bytes:
        raise UnusableEntry(f"`{shown(path)}` is longer than {limit_bytes} bytes")
    return data


def names_in(directory: "str | os.PathLike[str]") -> list[str]:
    """Return the names in a directory, which may be reached through a link; empty if there is none.

    Raises: UnusableEntry, OSError for a shortage.
    """
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _explained(directory, error, stat.S_IFDIR) from error


def mode_of(path: "str | os.PathLike[str]") -> int:
    """Type and permissions of an entry; 0 where there is none. No link is followed.

    Raises: UnusableEntry, OSError for a shortage.
    """
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _explained(path, error, 0) from error


def set_aside(path: "str | os.PathLike[str]") -> str:
    """Rename an entry, so that its name is free, and return the new name. Nothing is deleted.

    Raises: OSError.
    """
    number = 1
    while mode_of(target := f"{os.fspath(path)}{SET_ASIDE}{number}"):
        number += 1
    os.rename(path, target)  # noqa: PTH104
    return os.path.basename(target)


def type_of(mode: int) -> str:
    """Return the type of an entry for people: `a FIFO`."""
    return next((words for matches, words in _TYPES if matches(mode)), "of an unknown type")


def shown(path: "str | os.PathLike[str]") -> str:
    """The last part of a path, printable and bounded, for a message."""
    name = os.path.basename(os.fspath(path))
    printable = "".join(c if c.isprintable() and c != "`" else "?" for c in name)
    return printable if len(printable) <= _LONGEST_NAME else printable[: _LONGEST_NAME - 1] + "…"


def _explained(path: "str | os.PathLike[str]", error: OSError, wanted: int) -> OSError:
    if error.errno in _SHORTAGES or isinstance(error, FileNotFoundError | BlockingIOError | FileExistsError):
        return error
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        mode = 0
    if mode and wanted and stat.S_IFMT(mode) != wanted:
        return UnusableEntry(f"`{shown(path)}` is {type_of(mode)}, not {type_of(wanted)}")
    return UnusableEntry(f"`{shown(path)}` cannot be used: {error.strerror or error}")
