"""Make docs/picture.svg from what the commands really print: a turn, a killed daemon, the session found again."""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 112
REMOTE_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)  # a picture fetches nothing


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
            "COLUMNS": str(COLUMNS),
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
        }

        def show(shown: str, *arguments: str) -> None:
            console.print(Text("$ ", style="bold green") + Text(shown, style="bold"))
            done = subprocess.run(
                [betcode, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=True
            )
            for line in done.stderr.splitlines():
                console.print(Text(line, style="dim"))
            for line in done.stdout.splitlines():
                console.print(Text(line.replace(place, "~" + " " * (len(place) - 1)).rstrip()))
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
