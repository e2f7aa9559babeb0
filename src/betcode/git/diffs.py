"""Compares two trees, as a patch or as counts."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.snapshots import PrivateObjects

BOUND_S = 120.0  # without a further piece
# Plumbing: neither the user's settings nor those of a repository change the format of a patch.
_PATCH = ("-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")
_COUNTS = ("--numstat", "-z")
_MISSING = ("unable to read", "bad object", "not a tree object", "invalid object", "unable to load", "missing")
_GONE = (
    "A commit of this comparison no longer exists: git deleted it (git gc) because no branch contained it, or its "
    "repository is missing"
)


async def between(
    git: Git, objects: PrivateObjects, before: str, after: str, *, counts: bool
) -> AsyncGenerator[bytes, None]:
    """The difference of two trees, in pieces that end anywhere; renames are found. Hold it in `aclosing`.

    Raises:
        GitFailed
    """
    how = _COUNTS if counts else _PATCH
    words = ("diff-tree", "-r", "--no-color", "--find-renames", *how, before, after)
    pieces = git.stream(*words, at=objects.directory, variables=objects.variables, bound_s=BOUND_S)
    async with aclosing(pieces):
        try:
            async for piece in pieces:
                yield piece
        except GitFailed as failed:
            if any(word in failed.message for word in _MISSING):
                raise GitFailed(_GONE) from None
            raise
