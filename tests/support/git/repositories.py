"""Real git repositories, made by the real git."""

import os
import subprocess
from pathlib import Path

_WHO = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(at: Path, *arguments: str, **variables: str) -> str:
    """What git writes; it must succeed."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=at,
        env={**os.environ, **_WHO, **variables},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.removesuffix("\n")


def make_repository(at: Path, files: dict[str, str] | None = None) -> Path:
    """A repository with one commit on main."""
    at.mkdir(parents=True, exist_ok=True)
    git(at, "init", "-q", "-b", "main")
    commit(at, files or {"README": "hello\n"})
    return at


def define_filter(home: Path, name: str, **variables: str) -> None:
    """In the settings of the user: filters that a repository defines itself are not run by our calls."""
    home.mkdir(exist_ok=True)
    for variable, value in variables.items():
        key = f"filter.{name}.{variable}"
        subprocess.run(["git", "config", "--file", str(home / ".gitconfig"), key, value], check=True)


def commit(at: Path, files: dict[str, str], message: str = "a change") -> str:
    """Write the files and commit them; the commit."""
    for name, text in files.items():
        file = at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git(at, "add", "-A")
    git(at, "commit", "-q", "-m", message)
    return git(at, "rev-parse", "HEAD")
