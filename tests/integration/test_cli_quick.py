"""Quick commands import next to nothing; `python -m bench commands` measures their time."""

import subprocess
import sys

import pytest

from support.patience import PATIENCE_S

HEAVY = ("grpc", "google", "google.protobuf", "textual", "rich", "typer", "anyio", "asyncio", "msgspec", "apsw")
QUICK = [["--version"], ["--help"], ["run", "--help"], ["--complete", "session", ""], ["completion", "bash"]]


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    argv = [sys.executable, "-X", "importtime", "-m", "betcode", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "betcode.cli.main" in imported
    assert imported.isdisjoint(HEAVY)


def test_the_version_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "betcode", "--version"], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.split()[0] == "betcode"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_the_command(shell: str) -> None:
    argv = [sys.executable, "-m", "betcode", "completion", shell]
    assert "betcode --complete" in subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S).stdout


def test_the_bash_script_completes_a_word() -> None:
    script = subprocess.run(
        [sys.executable, "-m", "betcode", "completion", "bash"], capture_output=True, text=True, timeout=PATIENCE_S
    ).stdout
    asking = f"""betcode() {{ {sys.executable} -m betcode "$@"; }}
{script}
COMP_WORDS=(betcode daemon sta); COMP_CWORD=2; _betcode; echo "${{COMPREPLY[*]}}"
"""
    done = subprocess.run(["bash", "-c", asking], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout.split() == ["start", "status"]
