"""Runs one git command: argument list, fixed environment, limits on time and output."""

import os
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import PIPE
from types import MappingProxyType

import anyio
import anyio.to_thread

from betcode.domain.errors import GitFailed, StorageDegraded
from betcode.domain.values.text import shortened
from betcode.git import filters
from betcode.git.environment import SETTINGS, WORDS, environment_of
from betcode.git.version import ADVICE, unfit
from betcode.proc.child import BoundedOutput, Child, ending, next_piece, start

BOUND_S = 30.0
_OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
_ERROR_LIMIT_BYTES = 64 * 1024
_WORDS = 600  # characters of git's messages that people see
_DRAINED_WITHIN_S = 5.0  # once it has ended; a process that left its group may still have its pipes
_AT_ONCE = 16
_STREAMS_AT_ONCE = 32  # separate: each lasts as long as its reader needs
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_NOT_THERE = re.compile(r"fatal: cannot change to '(.*)': No such file or directory", re.DOTALL)
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GitResult:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return os.fsdecode(self.out)

    @property
    def words(self) -> str:
        """Return git's error message, short enough for a sentence."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        told = [line.removeprefix("fatal: ").removeprefix("error: ") for line in lines if not line.startswith("hint:")]
        return shortened("; ".join(told) or f"it ended with code {self.code}", _WORDS)


class Git:
    """The program, as this daemon calls it."""

    def __init__(
        self,
        environ: Mapping[str, str],
        program: str = "git",
        *,
        umask: int = -1,
        marked: Mapping[str, str] = _NOTHING,
    ) -> None:
        self._program = program
        self._umask = umask  # for what git writes; -1: our own
        self._environment = {**environment_of(environ), **marked}  # by which programs that git runs are recognised
        self._found = ""  # the program's absolute path, once it was seen to be new enough
        self._finding = anyio.Lock()
        self._calls = anyio.Semaphore(_AT_ONCE)
        self._streams = anyio.Semaphore(_STREAMS_AT_ONCE)

    async def run(
        self,
        *arguments: str,
        at: str | Path,
        stdin: bytes = b"",
        variables: Mapping[str, str] = _NOTHING,
        bound_s: float = BOUND_S,
    ) -> bytes:
        """Return its output.

        Raises:
            GitFailed, StorageDegraded: its exit code was not 0, or it timed out.
        """
        answer = await self.ask(*arguments, at=at, stdin=stdin, variables=variables, bound_s=bound_s)
        if answer.code:
            raise failure(answer, arguments)
        return answer.out

    async def ask(
        self,
        *arguments: str,
        at: str | Path,
        stdin: bytes = b"",
        variables: Mapping[str, str] = _NOTHING,
        bound_s: float = BOUND_S,
    ) -> GitResult:
        """Return its exit code and output, whatever the code.

        Raises:
            GitFailed: it could not be started, or timed out.
        """
        async with _place(self._calls):
            variables = await self._without_filters(arguments, at, variables, bound_s)
            return await self._asked(await self._argv(arguments, at), variables, stdin, bound_s, _verb(arguments))

    async def stream(
        self, *arguments: str, at: str | Path, variables: Mapping[str, str] = _NOTHING, bound_s: float = BOUND_S
    ) -> AsyncGenerator[bytes, None]:
        """Yield its output at the reader's pace. Hold it in `aclosing`.

        Raises:
            GitFailed: its exit code was not 0, or it wrote nothing for `bound_s`.
        """
        err = BoundedOutput(_ERROR_LIMIT_BYTES)
        async with _place(self._streams):
            variables = await self._without_filters(arguments, at, variables, bound_s)
            argv = await self._argv(arguments, at)
            async with ending(await self._start(argv, variables)) as child:
                await child.write_all(b"")
                while piece := await _next(child, err, bound_s):
                    yield piece  # in no task group: one who leaves here would get a group of errors
                if piece is not None:
                    await _rest(child, err)
                code = child.code
        if code is None:
            raise GitFailed(f"git {_verb(arguments)} wrote nothing for {bound_s:g} s, and was ended: try again later")
        if code:
            raise failure(GitResult(code, b"", err.text), arguments)

    async def _without_filters(
        self, arguments: Sequence[str], at: str | Path, variables: Mapping[str, str], bound_s: float
    ) -> Mapping[str, str]:
        """The variables of a call for which filters of the repository's own settings are turned off."""
        if not filters.may_run_filters(*arguments):
            return variables
        argv = await self._argv(filters.LIST, at)
        listed = await self._asked(argv, variables, b"", bound_s, _verb(arguments))
        settings = filters.overrides(listed.text)
        return filters.with_settings(variables, settings) if settings else variables

    async def _argv(self, arguments: Sequence[str], at: str | Path) -> list[str]:
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        command, *rest = arguments
        quiet = WORDS.get(command, ())
        return [await self._fit_program(), "--no-pager", "-C", str(at), *settings, command, *quiet, *rest]

    async def _fit_program(self) -> str:
        """Return the path of the program; once its version was accepted it is not checked again."""
        async with self._finding:
            if not self._found:
                path = self._environment["PATH"]
                found = await anyio.to_thread.run_sync(lambda: shutil.which(self._program, path=path))
                if found is None:
                    raise GitFailed(f"git is not installed: {ADVICE}")
                answer = await self._asked([found, "--version"], _NOTHING, b"", BOUND_S, "--version")
                if why := unfit(answer.text):
                    raise GitFailed(why)
                self._found = found
            return self._found

    async def _asked(
        self, argv: Sequence[str], variables: Mapping[str, str], stdin: bytes, bound_s: float, verb: str
    ) -> GitResult:
        out, err = BoundedOutput(_OUTPUT_LIMIT_BYTES), BoundedOutput(_ERROR_LIMIT_BYTES)
        code = None
        with anyio.move_on_after(bound_s):
            async with ending(await self._start(argv, variables)) as child, anyio.create_task_group() as tasks:
                tasks.start_soon(child.write_all, stdin)
                tasks.start_soon(err.collect, child.err)
                tasks.start_soon(out.collect, child.out, tasks.cancel_scope)
                code = await child.ended()
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAINED_WITHIN_S
        if out.is_too_much:
            raise GitFailed(f"git {verb} wrote more than {out.limit_bytes} bytes, and was ended: that is too much")
        if code is None:
            raise GitFailed(f"git {verb} did not end within {bound_s:g} s, and was ended: try again later")
        return GitResult(code, bytes(out.data), err.text)

    async def _start(self, argv: Sequence[str], variables: Mapping[str, str]) -> Child:
        """Start it in a thread: a start waits until the program has been loaded, from whatever disk."""
        environment = {**self._environment, **variables}
        try:
            return await anyio.to_thread.run_sync(partial(start, argv, environment, umask=self._umask, stdin=PIPE))
        except FileNotFoundError:
            self._found = ""
            raise GitFailed(f"git is no longer installed: {ADVICE}") from None
        except OSError as trouble:
            raise GitFailed(f"git cannot be started: {trouble.strerror}") from None
        except ValueError:
            raise GitFailed("Names with a NUL or an unpaired surrogate cannot be passed to git") from None


def failure(answer: GitResult, arguments: Sequence[str]) -> GitFailed | StorageDegraded:
    """Return the error for a failed call."""
    if any(words in answer.err for words in _DISK_FULL):
        return StorageDegraded(f"The disk is full: {answer.words}")
    if missing := _NOT_THERE.match(answer.err):
        return GitFailed(f"{missing[1]} does not exist")
    return GitFailed(f"git {_verb(arguments)} failed: {answer.words}")


@asynccontextmanager
async def _place(places: anyio.Semaphore) -> AsyncIterator[None]:
    """Wait for one of the slots of concurrent calls, because many clients must not start as many processes."""
    with anyio.move_on_after(BOUND_S) as waiting:
        await places.acquire()
    if waiting.cancelled_caught:
        raise GitFailed("Too many concurrent git calls: try again later")
    try:
        yield
    finally:
        places.release()


async def _next(child: Child, err: BoundedOutput, bound_s: float) -> bytes | None:
    """Return the next output, empty at the end; None: nothing in time. Its error output is collected meanwhile."""
    with anyio.move_on_after(bound_s):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(err.collect, child.err)
            tasks.start_soon(child.ended)
            piece = await next_piece(child.out)
            tasks.cancel_scope.cancel()
        return piece
    return None


async def _rest(child: Child, err: BoundedOutput) -> None:
    with anyio.move_on_after(_DRAINED_WITHIN_S):
        await child.ended()
        await err.collect(child.err)


def _verb(arguments: Sequence[str]) -> str:
    return " ".join(arguments[:2] if arguments[0] in ("worktree", "submodule") else arguments[:1])
