"""Make docs/picture.svg from what the commands really print: a turn, a killed daemon, the session found again."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 60, 112
REMOTE_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)  # a picture fetches nothing


def on_a_terminal(argv: list[str], cwd: Path, environment: Mapping[str, str]) -> str:
    """What the command writes to a terminal, answer and notes in their order."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(argv, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave) as run:
        os.close(slave)
        said = b"".join(_until_the_end(master))
    os.close(master)
    assert run.returncode == 0, said.decode()
    return said.decode().replace("\r\n", "\n")


def _until_the_end(master: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux says EIO when the other side is gone
            return
        if not piece:
            return
        yield piece


def at_home(said: str, home: str) -> str:
    """The home directory as ~, with the columns of a table still aligned."""
    if home not in said:
        return said
    return said.replace(home, "~").replace("DIRECTORY" + " " * (len(home) - 1), "DIRECTORY")


def main() -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    betcode = str(Path(sys.executable).parent / "betcode")
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "my-project"
        project.mkdir()
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": place,
            "BETCODE_STATE_DIR": f"{place}/state",
            "TERM": "xterm",
            "LANG": "C.UTF-8",
        }

        def show(shown: str, *arguments: str) -> None:
            console.print(Text("$ ", style="bold green") + Text(shown, style="bold"))
            said = at_home(on_a_terminal([betcode, *arguments], project, environment), place)
            console.print(Text.from_ansi(said))
            console.print()

        show('betcode run "give me a tour"', "run", "give me a tour")
        lock = Path(place) / "state" / "daemon.lock"
        pid = lock.read_text().split('"pid": ')[1].split(",")[0].rstrip("}")
        os.kill(int(pid), 9)
        console.print(Text("$ ", style="bold green") + Text(f"kill -9 {pid}      # the daemon", style="bold"))
        console.print()
        show("betcode session list", "session", "list")
        subprocess.run([betcode, "daemon", "stop"], env=environment, capture_output=True, check=True)
    picture = REMOTE_FONTS.sub("", console.export_svg(title="betcode"))
    (ROOT / "docs" / "picture.svg").write_text(picture)


if __name__ == "__main__":
    main()
