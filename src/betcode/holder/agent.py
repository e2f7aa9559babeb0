"""The agent's process: forked with its pipes; its stdin is a socketpair that remains open if the holder dies."""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH118, SIM105

import errno
import fcntl
import os
import signal
import socket
import sys

from betcode.holder.platform import die_with_parent, start_time

PIPE_BYTES = 256 * 1024
_KEPT_END = 3  # the descriptor of the other end of its own stdin, in the agent
_DEFAULTED = [
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGCHLD,
]


class Agent:
    """A started agent; its stdin is written by `stdin`, its output read from two descriptors."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str, umask: int) -> None:
        self._name = argv[0]
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        report_read, report_write = os.pipe()
        # Above the numbers the child will have, so that no dup2 there hits another's source.
        raised = [
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (theirs.fileno(), out_write, err_write, report_write)
        ]
        kept = fcntl.fcntl(ours.fileno(), fcntl.F_DUPFD_CLOEXEC, 20)
        candidates = _candidates(argv[0], env.get("PATH", os.defpath), cwd)
        encoded = {os.fsencode(key): os.fsencode(value) for key, value in env.items()}
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _become(parent, raised, kept, candidates, argv, encoded, cwd, umask)
        for fd in (*raised, kept, out_write, err_write, report_write):
            os.close(fd)
        theirs.close()
        ours.setblocking(False)  # the agent's own end is another description and remains blocking
        for fd in (out_read, err_read, report_read):
            os.set_blocking(fd, False)
        if sys.platform == "linux":
            for fd in (out_read, err_read):
                try:
                    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
                except OSError:
                    pass  # over the user's limit; the usual size will do
        self.stdin = ours
        self.stdout, self.stderr, self._report = out_read, err_read, report_read
        self.start_time = start_time(self.pid)
        self.status: int | None = None  # of waitpid, once it has ended

    def close_input(self) -> None:
        """EOF on the agent's stdin, though the agent holds the other end too."""
        try:
            self.stdin.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has already ended

    def start_failure(self) -> tuple[int, str] | None:
        """Return why the program could not be started: errno and a sentence; None if it was."""
        try:
            report = os.read(self._report, 4096)
        except BlockingIOError:
            return None
        if not report:
            return None
        step, number = report.decode("ascii").split()
        what = "the working directory cannot be entered" if step == "cwd" else f"cannot start {self._name!r}"
        return int(number), f"{what}: {os.strerror(int(number))}"


def _candidates(name: str, path: str, cwd: str) -> list[bytes]:
    """The files a name may mean, in the order to try."""
    if "/" in name:
        return [os.fsencode(os.path.join(cwd, name))]
    return [os.fsencode(os.path.join(cwd, directory, name)) for directory in path.split(os.pathsep)]


def _become(
    parent: int,
    raised: list[int],
    kept: int,
    candidates: list[bytes],
    argv: list[str],
    env: dict[bytes, bytes],
    cwd: str,
    umask: int,
) -> None:
    """In the child: be the agent, or report why not. Never returns."""
    report = raised[3]
    step, number = "exec", errno.ENOENT
    try:
        # A separate session, so that an agent that signals its process group does not hit the holder.
        os.setsid()
        die_with_parent(parent)
        for one in _DEFAULTED:
            signal.signal(one, signal.SIG_DFL)
        os.umask(umask)
        step = "cwd"
        os.chdir(cwd)
        step = "exec"
        for fd, target in ((raised[0], 0), (raised[1], 1), (raised[2], 2), (kept, _KEPT_END)):
            os.dup2(fd, target)
        for candidate in candidates:
            try:
                os.execve(candidate, argv, env)  # noqa: S606 (an agent is a program, not a shell line)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError:  # a later directory may have one that can be run
                number = errno.EACCES
        os.write(report, b"%s %d" % (step.encode(), number))
    except OSError as error:
        os.write(report, b"%s %d" % (step.encode(), error.errno or errno.EIO))
    except ValueError:  # a zero byte in a name or a value
        os.write(report, b"%s %d" % (step.encode(), errno.EINVAL))
    finally:
        os._exit(127)
