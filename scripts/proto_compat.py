"""Tell whether proto/ breaks what earlier commits promised; leave with 1 and the reasons when it does.

Compared are the working tree and, where they can be had: the last commit, the commit before the one that changed proto/
last, the point where this branch left main, and the last release. So a break is seen before it is committed, in
a clean clone after it was, and on a branch.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# As in buf.yaml, but without the module's path: the folders compared are module roots themselves.
RULES = '{"version":"v2","breaking":{"use":["FILE"]}}'
BUF_SAID_BREAKING = 100


def breaking(current: Path, earlier: Path) -> list[str]:
    """What in `current` breaks `earlier`, one line each; both are folders like proto/."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [Path(sys.executable).parent / "buf", "breaking", current, "--against", earlier, "--config", RULES],
            capture_output=True,
            text=True,
            env=os.environ | {"BUF_CACHE_DIR": cache},
        )
    if done.returncode not in (0, BUF_SAID_BREAKING):
        raise RuntimeError(f"buf could not compare: {done.stderr.strip()}")
    return done.stdout.splitlines()


def git(*arguments: str, root: Path = ROOT) -> bytes | None:
    """What git says, or None where it refuses (not a repository, no such revision, shallow clone)."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def revision(name: str, root: Path = ROOT) -> str | None:
    """The full name of a commit, or None when there is no such one here."""
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", root=root)
    return found.decode().strip() if found else None


def baselines(root: Path = ROOT) -> dict[str, str]:
    """The commits to compare with, and what each one is."""
    found: dict[str, str] = {}

    def add(commit: str | None, what: str) -> None:
        if commit and git("ls-tree", commit, "proto", root=root):
            found.setdefault(commit, what)

    add(revision("HEAD", root), "the last commit")
    changed = git("rev-list", "--max-count=1", "--first-parent", "HEAD", "--", "proto", root=root)
    if changed:
        add(revision(f"{changed.decode().strip()}~1", root), "before the last change")
    for main in ("origin/main", "main"):
        if revision(main, root) and (base := git("merge-base", "HEAD", main, root=root)):
            add(base.decode().strip(), f"where this left {main}")
            break
    if tag := git("describe", "--tags", "--abbrev=0", "--match", "v*", root=root):
        add(revision(tag.decode().strip(), root), "the last release")
    return found


def take_out(commit: str, target: Path, root: Path = ROOT) -> Path:
    """Write proto/ as it was in `commit` below `target`."""
    packed = git("archive", commit, "proto", root=root)
    if packed is None:
        raise RuntimeError(f"git cannot give proto/ of {commit}")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive.getmembers():
            if (content := archive.extractfile(member)) is not None:
                path = target / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
    return target / "proto"


def complaints(root: Path = ROOT) -> tuple[list[str], list[str]]:
    """What was compared, and every break found."""
    compared, found = [], []
    for commit, what in baselines(root).items():
        with tempfile.TemporaryDirectory() as directory:
            breaks = breaking(root / "proto", take_out(commit, Path(directory), root))
        compared.append(f"{commit[:12]} ({what})")
        found += [f"against {commit[:12]} ({what}): {line}" for line in breaks]
    return compared, found


if __name__ == "__main__":
    compared, found = complaints()
    if found:
        sys.exit("proto: numbers, types and names that were given out stay as they are:\n  " + "\n  ".join(found))
    print("proto: compatible with " + (", ".join(compared) or "nothing: there is no earlier commit here"))
