"""A private repository over the objects of another, which stores files as raw bytes.

Filters, line endings, encodings and settings of the other repository have no effect here: content comes out exactly as
it was put in, and no program of a repository is run.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.git.command import Git
from betcode.git.environment import settings_of_a_call
from betcode.git.private_repository import make_git_directory
from betcode.git.tree import LONG_S, Tree

_SETTINGS = "\tbare = false\n\tfileMode = true\n\tsymlinks = true\n"
# Entries here override any .gitattributes.
_AS_THEY_ARE = "* -text -crlf -eol -ident -filter -working-tree-encoding\n"
_MANY = 100
# Files above this size go into one pack, which is written and synced as a whole; all others are separate objects.
_TO_A_PACK, _SOME_TO_A_PACK = "1", "16m"


_SYNCED = {"core.fsync": "committed,loose-object,pack,reference"}
FSYNC: Mapping[str, str] = settings_of_a_call(_SYNCED)


class PlainRepository:
    """A repository below a private directory: git's directory, and any number of private indexes."""

    def __init__(self, git: Git, tree: Tree, directory: Path) -> None:
        self._git = git
        self._tree = tree
        self.directory = directory
        self.nothing = b"0" * 40

    async def make(self) -> None:
        """Raises GitFailed, OSError."""
        name = (await self._tree.run(self._git, "rev-parse", "--show-object-format")).decode().strip()
        self.nothing = b"0" * (40 if name == "sha1" else 64)
        await anyio.to_thread.run_sync(self._make_files, name)

    def _make_files(self, object_format: str) -> None:
        make_git_directory(self.directory, object_format, _SETTINGS, self._tree.objects)
        (self.directory / "info" / "attributes").write_text(_AS_THEY_ARE)

    @property
    def objects(self) -> Mapping[str, str]:
        """For a call of git that finds all objects of the other repository, and writes none there."""
        return {"GIT_OBJECT_DIRECTORY": str(self.directory / "objects")}

    def index(self, name: str) -> Path:
        return self.directory / f"{name}.index"

    async def run(self, *arguments: str, index: str, stdin: bytes = b"", to_a_pack: bool = False) -> bytes:
        """Return git's output in it, over the files of the tree.

        Raises:
            GitFailed, StorageDegraded
        """
        variables = {
            "GIT_DIR": str(self.directory),
            "GIT_WORK_TREE": self._tree.top,
            "GIT_INDEX_FILE": str(self.index(index)),
            **self.objects,
            **settings_of_a_call(
                {
                    "core.fsync": "none",
                    "core.compression": "1",
                    "core.bigFileThreshold": _TO_A_PACK if to_a_pack else _SOME_TO_A_PACK,
                }
            ),
        }
        return await self._git.run(*arguments, at=self._tree.top, stdin=stdin, variables=variables, bound_s=LONG_S)

    async def drop(self, paths: Iterable[str], *, index: str) -> None:
        """Remove paths from an index, at all stages; the files remain."""
        lines = b"".join(b"0 " + self.nothing + b"\t" + os.fsencode(path) + b"\0" for path in paths)
        if lines:
            await self.run("update-index", "-z", "--index-info", index=index, stdin=lines)

    async def take_in(self, paths: Sequence[str], *, index: str, names_only: bool = False) -> None:
        """Have an index hold the files as they are; with `names_only` no object is written."""
        lines = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if lines:
            how = ("--info-only",) if names_only else ()
            words = ("update-index", "-z", "--add", "--replace", "--remove", *how, "--stdin")
            await self.run(*words, index=index, stdin=lines, to_a_pack=len(paths) > _MANY)

    async def put_in(self, entries: Iterable[tuple[str, str, str]], *, index: str) -> None:
        """Have an index hold these modes, objects and paths."""
        lines = b"".join(f"{mode} {name}\t".encode() + os.fsencode(path) + b"\0" for mode, name, path in entries)
        if lines:
            await self.run("update-index", "-z", "--index-info", index=index, stdin=lines)

    async def written(self, *, index: str) -> str:
        """The tree of an index."""
        # Objects that a partial clone has not fetched may be missing.
        return (await self.run("write-tree", "--missing-ok", index=index)).decode().strip()

    async def blob(self, data: bytes) -> str:
        """An object with these bytes."""
        return (await self.run("hash-object", "-w", "--stdin", index="none", stdin=data)).decode().strip()
