"""Paths of a campaign: nothing that is let through leads out of its root."""

import os
from contextlib import suppress
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.campaigns.paths import Confinement, is_secret
from betcode.campaigns.words import refuse_leaving
from betcode.domain.obey.campaign_errors import CommandRefused

PARTS = ["..", ".", "", "a", "b", "in", "out", "up", "loop", "new", "~"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with links in it, and a neighbour whose name begins as its own does."""
    base = tmp_path_factory.mktemp("tree").resolve()
    root = base / "root"
    (root / "a/b").mkdir(parents=True)
    (base / "root-next/a").mkdir(parents=True)
    (root / "in").symlink_to("a/b")
    (root / "out").symlink_to("../root-next")
    (root / "a/up").symlink_to("../..")
    (root / "loop").symlink_to("loop")
    (root / "a/b/out").symlink_to(base / "root-next" / "none")
    return root


def outside(root: Path) -> set[Path]:
    return {each for each in root.parent.rglob("*") if not each.is_relative_to(root)}


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=7), st.booleans())
def test_nothing_can_be_written_outside_by_a_path_that_is_let_through(
    tree: Path, parts: list[str], is_absolute: bool
) -> None:
    text = "/".join(parts)
    if is_absolute:
        text = f"{tree}/{text}"
    try:
        Confinement(tree).resolve(text)
    except CommandRefused:
        return
    before = outside(tree)
    # As it is, and with the steps back taken before links are followed.
    for path in (tree / text, Path(os.path.normpath(tree / text))):
        was_there = path.exists()
        with suppress(OSError):
            path.open("a").close()
            assert outside(tree) == before
            if not was_there:
                Path(os.path.realpath(path)).unlink()


LEAVING = [
    "/etc/passwd",
    "../root-next/x",
    "..",
    "a/../../x",
    "./../x",
    "out/x",
    "out",
    "a/up/x",
    "in/../../../x",
    "in/../../x",  # inside where links are followed first, outside where steps back are taken first
    "in/out",
    "~/x",
    "~",
    "~root/x",
    "//etc/passwd",
    "/proc/self/root/etc",
    "/dev/stdin",
]
HIDDEN = [
    "{}",
    "--file={}",
    "--a=b={}",
    "-o{}",
    "-vo{}",
    "@{}",
    "-d@{}",
    "x@{}",
    "HEAD:{}",
    "a,{}",
    "k=v,{}",
    "k={};x",
    "'{}'",
    "read {} now",
    "x\n{}",
    "({})",
    "[{}]",
]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("leaving", LEAVING)
def test_a_path_that_leaves_is_found_wherever_it_hides(tree: Path, leaving: str, hidden: str) -> None:
    with pytest.raises(CommandRefused) as refusal:
        refuse_leaving(Confinement(tree), hidden.format(leaving))
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(
    "word", ["file:///etc/passwd", "FILE:/etc/passwd", "file://localhost/etc/passwd", "host:/etc/passwd"]
)
def test_an_address_that_is_a_path_is_one(tree: Path, word: str) -> None:
    with pytest.raises(CommandRefused, match="leaves the root"):
        refuse_leaving(Confinement(tree), word)


@pytest.mark.parametrize(
    "word",
    [
        "",
        "-",
        "--",
        "-v",
        "--verbose",
        "-n10",
        "status",
        "a/b",
        "./a/../in",
        "in/new.txt",
        "--file=a/new.txt",
        "HEAD~1",
        "HEAD..main",
        "main...feature/x",
        "HEAD@{1}",
        "--format=%h %s (%an)",
        "https://example.org/a/b.git",
        "--remote=https://example.org/a/b",
        "see https://example.org/a for more",
        "ssh://git@example.org/a/b.git",
        "git@example.org:a/b.git",
        "Fix the password form, please",
        "*.py",
    ],
)
def test_what_stays_inside_is_let_through(tree: Path, word: str) -> None:
    refuse_leaving(Confinement(tree), word)


@pytest.mark.parametrize("word", ["https://example.org/../../etc", "ssh://a@-oProxyCommand=x/y", "git://"])
def test_a_strange_address_is_looked_at_as_a_path(tree: Path, word: str) -> None:
    with pytest.raises(CommandRefused):
        refuse_leaving(Confinement(tree), word)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        ("deep/.env", True),
        (".env.production", True),
        (".ENV", True),
        (".env.example", False),
        ("a/.env.sample", False),
        ("credentials.json", True),
        ("my-secrets/plain.txt", True),
        ("Passwords.txt", True),
        ("tls/server.pem", True),
        ("id.key", True),
        (".git/config", True),
        ("projects/x/.git/config.worktree", True),
        (".git/modules/x/config", True),
        (".git/HEAD", False),
        ("config", False),
        ("keyboard.txt", False),
        ("environment.py", False),
    ],
)
def test_files_that_hold_secrets_are_not_for_agents(tmp_path: Path, path: str, secret: bool) -> None:
    assert is_secret(PurePath(path)) == secret
    if secret:
        with pytest.raises(CommandRefused, match="hold secrets"):
            refuse_leaving(Confinement(tmp_path.resolve()), f"--file={path}")
    else:
        refuse_leaving(Confinement(tmp_path.resolve()), f"--file={path}")


def test_a_secret_under_another_name_is_one(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("")
    (tmp_path / "plain").symlink_to(".env")
    with pytest.raises(CommandRefused, match="hold secrets"):
        refuse_leaving(Confinement(tmp_path.resolve()), "plain")
    with pytest.raises(CommandRefused, match="hold secrets"):
        refuse_leaving(Confinement(tmp_path.resolve()), "HEAD:secrets")
