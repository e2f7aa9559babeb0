"""Moves private objects into a repository as one pack that `git gc` does not remove.

The next `git gc --prune=now` deletes loose objects that no ref reaches yet, and a ref to them would then be broken. A
pack is complete from the start, and is not deleted while it has a `.keep` file.
"""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from betcode.git.command import Git
from betcode.git.private_objects import PlainRepository
from betcode.git.tree import LONG_S, Tree
from betcode.util.atomic_files import replacing

_SUFFIXES = (".pack", ".rev", ".idx")  # the last one makes git notice it


async def hand_over(
    git: Git, tree: Tree, private: PlainRepository, commit: str, known: Sequence[str], mark: str
) -> Path:
    """Return the file that keeps the pack; delete it when a ref points to the commit. `mark` names its owner.

    Raises:
        GitFailed, StorageDegraded, OSError: also if a required object is missing.
    """
    lines = "".join([f"{commit}\n", *(f"^{each}\n" for each in known)])
    base = private.directory / "kept"
    words = ("pack-objects", "-q", "--revs", "--window=0", "--missing=allow-promisor", str(base))
    variables = {**tree.variables, **private.objects}
    out = await git.run(*words, at=tree.top, stdin=lines.encode(), variables=variables, bound_s=LONG_S)
    await anyio.to_thread.run_sync(lambda: shutil.rmtree(private.directory / "objects"))
    name = out.decode().strip()
    return await anyio.to_thread.run_sync(_copied, Path(f"{base}-{name}"), Path(tree.objects) / "pack", name, mark)


def let_go(objects: str, mark: str) -> None:
    """Delete what keeps packs with this mark. It may block."""
    for keep in Path(objects).glob("pack/*.keep"):
        with suppress(OSError):
            if keep.read_text(errors="replace") == mark:
                keep.unlink()


def _copied(source: Path, packs: Path, name: str, mark: str) -> Path:
    packs.mkdir(exist_ok=True)
    keep = packs / f"pack-{name}.keep"
    keep.write_text(mark)
    for suffix in _SUFFIXES:
        target, made = packs / f"pack-{name}{suffix}", source.with_name(source.name + suffix)
        if target.exists() or not made.exists():
            continue
        partial = packs / f"tmp_{target.name}"  # git itself deletes leftover files of this name
        with made.open("rb") as source_file, replacing(target, mode=0o444, temporary=partial) as file:
            shutil.copyfileobj(source_file, file)
        made.unlink()
    return keep
