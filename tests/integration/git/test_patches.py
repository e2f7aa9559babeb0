"""Whatever happens between two snapshots, the patch from the first gives the second."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betcode.git.command import Git
from betcode.git.diffs import between
from betcode.git.snapshots import PrivateObjects, Snapshot, ground_of, take
from support.git.repositories import make_repository
from support.git.trees import files_in, files_of

pytestmark = pytest.mark.anyio

_NAMES = [
    b"a",
    b"b.txt",
    b"deep/c",
    b"deep/er/d",
    b"sp ace",
    b"caf\xe9",
    b"snow\xe2\x98\x83",
    b"tab\there",
    b'q"uote',
    b"-dash",
]
_names = st.sampled_from(_NAMES)
_contents = st.one_of(
    st.lists(st.sampled_from([b"one", b"two", b"three", b"", b"\xff\x00"]), max_size=8).map(b"\n".join),
    st.binary(max_size=40),
    st.just(b"line\n" * 200),  # so that renames are found
)
_edits = st.one_of(
    st.tuples(st.just("write"), _names, _contents),
    st.tuples(st.just("remove"), _names, st.just(b"")),
    st.tuples(st.just("link"), _names, _names),
    st.tuples(st.just("move"), _names, _names),
    st.tuples(st.just("run"), _names, st.just(b"")),
    st.tuples(st.just("append"), _names, _contents),
)


@settings(max_examples=20, deadline=None)
@given(before=st.lists(_edits, max_size=8), after=st.lists(_edits, max_size=8), commit_between=st.booleans())
async def test_a_patch_between_two_snapshots_gives_the_second(
    before: list[tuple[str, bytes, bytes]], after: list[tuple[str, bytes, bytes]], commit_between: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        shop = make_repository(root / "shop", {"a": "line\n" * 200, "deep/c": "three\n"})
        objects = PrivateObjects(root / "private")
        for edit in before:
            _do(os.fsencode(shop), *edit)
        first = await _snapshot(shop, objects)
        for edit in after:
            _do(os.fsencode(shop), *edit)
        if commit_between:  # a commit is no change of files
            _git(shop, {}, "add", "-A")
            _git(shop, {}, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
        second = await _snapshot(shop, objects)
        patch = await _patch(objects, first.tree, second.tree)
        _apply(objects, first.tree, patch, root / "plain")
        assert files_in(root / "plain") == files_of(objects, second.tree)
        assert bool(patch) == (first.tree != second.tree)


def _do(top: bytes, what: str, name: bytes, more: bytes) -> None:
    path = top + b"/" + name
    other = top + b"/" + more
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - names are bytes
        match what:
            case "write" | "append":
                with open(path, "ab" if what == "append" else "wb") as file:  # noqa: PTH123
                    file.write(more)
            case "remove":
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)  # noqa: PTH108, PTH112, PTH114
            case "link":
                os.symlink(more, path)  # noqa: PTH211
            case "move":
                os.replace(path, other)  # noqa: PTH105
            case "run":
                os.chmod(path, 0o755)  # noqa: PTH101
            case _:
                raise AssertionError(what)
    except OSError:
        pass  # there is no such file, or a directory is in the way


async def _snapshot(shop: Path, objects: PrivateObjects) -> Snapshot:
    git = Git(os.environ)
    ground = await ground_of(git, str(shop))
    assert ground is not None
    return await take(git, ground, objects, 1 << 20)


async def _patch(objects: PrivateObjects, first: str, second: str) -> bytes:
    return b"".join([piece async for piece in between(Git(os.environ), objects, first, second, counts=False)])


def _apply(objects: PrivateObjects, tree: str, patch: bytes, place: Path) -> None:
    """A checkout of the tree in a plain directory, and the patch applied to it; git has no objects there."""
    place.mkdir()
    variables = {**objects.variables, "GIT_INDEX_FILE": str(place.with_name("index")), "GIT_WORK_TREE": str(place)}
    _git(place, variables, "read-tree", tree)
    _git(place, variables, "checkout-index", "--all")
    if patch:
        _git(place, {}, "apply", "--whitespace=nowarn", stdin=patch)


def _git(at: Path, variables: dict[str, str], *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=at, env={**os.environ, **variables}, input=stdin, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
