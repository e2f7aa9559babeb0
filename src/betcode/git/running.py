"""One call of git: a list of arguments, a fixed environment, a bound on its time and on its words."""

import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from types import MappingProxyType

import anyio
from anyio.abc import ByteReceiveStream, Process

from betcode.domain.errors import GitFailed, StorageDegraded
from betcode.domain.text import shortened

# What git needs to find itself, its user and that user's settings. Nothing that a client sent, and no keys: filters
# that a repository names are programs.
_PASSED_ON = ("HOME", "PATH", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_FIXED = {
    "LC_ALL": "C.UTF-8",  # its words are looked at, and shown
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_OPTIONAL_LOCKS": "0",  # looking takes no lock that somebody at work would meet
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "/bin/false",
}
# A repository's own settings may name programs. Those that a look or a checkout would start are turned off; what
# stays are filters, without which files would not be what they are.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "submodule.recurse=false",
    "commit.gpgSign=false",
)
BOUND_S = 30.0
_OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
_WORDS = 600  # characters of what git says that people are told
_PIECE_BYTES = 64 * 1024
_KILLED_WITHIN_S = 5.0
_DISK_FULL = ("No space left on device", "Disk quota exceeded")
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return os.fsdecode(self.out)

    @property
    def words(self) -> str:
        """What git said against it, short enough for a sentence."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        told = [line.removeprefix("fatal: ").removeprefix("error: ") for line in lines if not line.startswith("hint:")]
        return shortened("; ".join(told) or f"it ended with code {self.code}", _WORDS)


class Git:
    """The program, as this daemon calls it."""

    def __init__(self, environ: Mapping[str, str], program: str = "git") -> None:
        self._program = program
        self._environment = {name: environ[name] for name in _PASSED_ON if name in environ} | _FIXED

    async def run(
        self,
        *arguments: str,
        at: str | Path,
        stdin: bytes = b"",
        variables: Mapping[str, str] = _NOTHING,
        bound_s: float = BOUND_S,
    ) -> bytes:
        """What it writes.

        Raises:
            GitFailed, StorageDegraded: it ended with anything but 0, or not in time.
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
    ) -> Answer:
        """How it ends and what it writes, whatever the code.

        Raises:
            GitFailed: it could not be started, or did not end in time.
        """
        out, err = bytearray(), bytearray()
        with anyio.move_on_after(bound_s):
            async with self._started(arguments, at, variables) as process, anyio.create_task_group() as tasks:
                assert process.stdin is not None
                assert process.stdout is not None
                assert process.stderr is not None
                tasks.start_soon(_gather, process.stdout, out, _OUTPUT_LIMIT_BYTES)
                tasks.start_soon(_gather, process.stderr, err, _PIECE_BYTES)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    if stdin:
                        await process.stdin.send(stdin)
                await process.stdin.aclose()
                code = await process.wait()
            if len(out) >= _OUTPUT_LIMIT_BYTES:
                raise GitFailed(f"git {_verb(arguments)} says more than {_OUTPUT_LIMIT_BYTES} bytes: that is too much")
            return Answer(code, bytes(out), err.decode(errors="replace"))
        raise GitFailed(f"git {_verb(arguments)} did not end within {bound_s:g} s, and was ended: try again later")

    async def stream(
        self, *arguments: str, at: str | Path, variables: Mapping[str, str] = _NOTHING, bound_s: float = BOUND_S
    ) -> AsyncGenerator[bytes, None]:
        """What it writes, as it does; as much as whoever reads it takes. Hold it in `aclosing`.

        Raises:
            GitFailed: it ended with anything but 0, or wrote nothing more for `bound_s`.
        """
        err = bytearray()
        async with self._started(arguments, at, variables) as process, anyio.create_task_group() as tasks:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdin.aclose()
            tasks.start_soon(_gather, process.stderr, err, _PIECE_BYTES)
            async with aclosing(_pieces(process.stdout, bound_s)) as pieces:
                async for piece in pieces:
                    yield piece
            code = await process.wait()
        if code:
            raise failure(Answer(code, b"", err.decode(errors="replace")), arguments)

    @asynccontextmanager
    async def _started(
        self, arguments: Sequence[str], at: str | Path, variables: Mapping[str, str]
    ) -> AsyncGenerator[Process, None]:
        """The process; when the block is left, for whatever reason, it and what it started are gone."""
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        argv = [self._program, "--no-pager", *settings, *arguments]
        try:
            process = await anyio.open_process(
                argv,
                cwd=at,
                env={**self._environment, **variables},
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            missing = (
                f"{at} is not there" if not Path(at).is_dir() else "git is not installed: install git 2.36 or newer"
            )
            raise GitFailed(missing) from None
        except OSError as trouble:
            raise GitFailed(f"git cannot be started in {at}: {trouble.strerror}") from None
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_KILLED_WITHIN_S):
                if process.returncode is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
                await process.aclose()


def failure(answer: Answer, arguments: Sequence[str]) -> GitFailed | StorageDegraded:
    """What is told of a call that went wrong."""
    if any(words in answer.err for words in _DISK_FULL):
        return StorageDegraded(f"There is no room on the disk: {answer.words}")
    return GitFailed(f"git {_verb(arguments)} failed: {answer.words}")


def _verb(arguments: Sequence[str]) -> str:
    return " ".join(arguments[:2] if arguments[0] in ("worktree", "submodule") else arguments[:1])


async def _gather(stream: ByteReceiveStream, into: bytearray, limit: int) -> None:
    """All of it is read, so that it does not block; what is beyond the limit is dropped."""
    async for piece in stream:
        into += piece[: max(limit - len(into), 0)]


async def _pieces(stream: ByteReceiveStream, bound_s: float) -> AsyncGenerator[bytes, None]:
    while True:
        with anyio.move_on_after(bound_s) as waiting:
            try:
                piece = await stream.receive(_PIECE_BYTES)
            except anyio.EndOfStream:
                return
        if waiting.cancelled_caught:
            raise GitFailed(f"git wrote nothing for {bound_s:g} s, and was ended: try again later")
        yield piece
