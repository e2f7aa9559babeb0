"""What may be run in a campaign, and what git, just, fest and camp may be told."""

import json
from pathlib import Path

import pytest

from betcode.campaigns import Sandbox
from betcode.campaigns.manifest import Manifest, WrongManifest, understood
from betcode.domain.obey.campaign_errors import CampaignUnusable, CommandRefused
from support.obey.campaigns import allow, make_campaign, put_program


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_campaign(tmp_path / "root").root
    (root / "justfile").write_text("build:\n\ttrue\n")
    return root


def sandbox(root: Path) -> Sandbox:
    return Sandbox(make_campaign(root))


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "--no-pager log --oneline -n 5 HEAD..main",
        "diff --stat HEAD~1 -- src",
        "add .",
        "commit -q -m message",
        "push origin main",
        "push -u origin feature/x",
        "push --force-if-includes origin main",
        "fetch --all --prune-tags",
        "reset --soft HEAD~1",
        "reset HEAD file",
        "clean -n",
        "clean --dry-run -d",
        "clean -nd src",
        "merge -s ours other",
        "rebase -Xours main",
        "cherry-pick -s abc123",
        "pull --strategy=recursive",
        "remote add origin https://example.org/a.git",
        "grep password",
        "--version",
        "version",
    ],
)
def test_git_may_be_told_what_harms_nobody(root: Path, words: str) -> None:
    sandbox(root).check_command(["git", *words.split()])


@pytest.mark.parametrize(
    "words",
    [
        # What others have is overwritten or removed.
        "push --force",
        "push -f origin main",
        "push -uf origin main",
        "push -fu origin main",
        "push --forc",
        "push --force-with-lease",
        "push --force-with-lease=main:abc origin",
        "push origin +main",
        "push origin +main:main",
        "push origin :main",
        "push --delete origin main",
        "push -d origin main",
        "push --mirror",
        "push --prune origin",
        "push -o -- --force",
        "push origin -- +main",
        # Work is lost.
        "reset --hard",
        "reset --har HEAD~1",
        "reset --h",
        "reset -q --hard",
        "clean -fd",
        "clean -f -d",
        "clean -df",
        "clean -ffdx",
        "clean --force -d",
        "clean --forc -d",
        "clean -f .",
        "clean -d",
        "clean",
        "clean -en -fd",
        "clean -e -n -f",
        "clean -- -n",
        # It would work somewhere else, or run what it is told to.
        "-C /tmp status",
        "-C .. status",
        "--git-dir=/tmp/x status",
        "--git-dir x status",
        "--work-tree=/ status",
        "-c alias.x=!sh x",
        "-c core.pager=sh log",
        "-ccore.fsmonitor=sh status",
        "--exec-path=/tmp status",
        "--config-env=a=b status",
        "--namespace=x status",
        "--no-pager -c a=b status",
        "-p log",
        "fetch --upload-pack=sh origin",
        "fetch --upload-p sh origin",
        "push --receive-pack=sh origin",
        "push --exec=sh origin",
        "push --exe sh origin",
        "ls-remote -u sh origin",
        "rebase -x sh main",
        "rebase -ix sh main",
        "rebase --exec sh main",
        "grep -Osh x",
        "grep --open-files-in-pager=sh x",
        "log --ext-diff -p",
        "diff --ext-diff",
        "diff --textconv",
        "apply --unsafe-paths x",
        "merge -s evil other",
        "merge -qs evil other",
        "merge -sevil other",
        "merge --strategy=evil other",
        "merge --strat evil other",
        "revert --strategy evil HEAD",
        "fetch ext::sh",
        "remote add x ext::sh",
        "pull evil::x",
        "commit --template=x",
        # It is no command of git's own, or one that runs or writes anything.
        "x",
        "alias",
        "config user.name x",
        "config --get remote.origin.url",
        "bisect run sh",
        "submodule foreach sh",
        "difftool -x sh",
        "filter-branch --tree-filter sh",
        "clone https://example.org/x",
        "init /tmp/x",
        "worktree add ../x",
        "daemon",
        "help status",
        "--help",
        "",
        # A path leaves the root.
        "add ../x",
        "add /etc/passwd",
        "diff --no-index /etc/passwd x",
        "log --output=/tmp/x",
        "commit -F/etc/passwd",
        "commit -F ../x",
        "commit --cleanup -m -F/etc/passwd",
        "commit --cleanup -m -F /etc/passwd",
        "show HEAD:../x",
        "show HEAD:.env",
        "add .env",
        "fetch file:///etc",
        "fetch ../other",
        "blame .git/config",
        "commit --author=x --file=/etc/passwd",
    ],
)
def test_git_may_not_be_told_what_destroys_leaves_or_runs_something(root: Path, words: str) -> None:
    with pytest.raises(CommandRefused) as refusal:
        sandbox(root).check_command(["git", *words.split()])
    assert refusal.value.message.isprintable()


def test_the_message_of_a_commit_is_no_path(root: Path) -> None:
    sandbox(root).check_command(["git", "commit", "-m", "/etc/passwd and ../x: ~/y"])
    sandbox(root).check_command(["git", "tag", "-a", "--message", "../v1", "v1"])
    with pytest.raises(CommandRefused):
        sandbox(root).check_command(["git", "add", "-m", "../x"])


@pytest.mark.parametrize(
    "argv",
    [
        ["build"],
        ["--list"],
        ["-n", "build", "a/b", "x=1"],
        ["mod::build"],
        ["build", "--", "--flag=a,b"],
        ["--show", "build"],
        ["-q", "build", "--", "-x"],
    ],
)
def test_just_runs_recipes(root: Path, argv: list[str]) -> None:
    sandbox(root).check_command(["just", *argv])


@pytest.mark.parametrize(
    "argv",
    [
        ["--command", "sh"],
        ["--show", "--", "--command", "sh"],
        ["-c", "sh"],
        ["--shell", "sh", "build"],
        ["--justfile=x", "build"],
        ["-f", "x", "build"],
        ["-d", "x", "build"],
        ["--set", "a", "b"],
        ["--global-justfile"],
        ["--edit"],
        ["--choose"],
        ["--dotenv-path=x"],
        ["build", "--command", "sh"],
        ["build", "$(touch x)"],
        ["build", "`touch x`"],
        ["build", "a; touch x"],
        ["build", "a\ntouch x"],
        ["build", "a & touch x"],
        ["build", "x > y"],
        ["build", "'x"],
        ["build", "../x"],
        ["build", "--", "/etc/passwd"],
        ["../other/build"],
        ["build", "x=~/y"],
    ],
)
def test_just_runs_nothing_else(root: Path, argv: list[str]) -> None:
    with pytest.raises(CommandRefused):
        sandbox(root).check_command(["just", *argv])


def test_just_takes_no_justfile_from_elsewhere(root: Path) -> None:
    (root.parent / "justfile").write_text("build:\n\ttrue\n")
    (root / "justfile").unlink()
    with pytest.raises(CommandRefused, match="There is no justfile"):
        sandbox(root).check_command(["just", "build"])
    (root / "Justfile").symlink_to("../justfile")
    with pytest.raises(CommandRefused, match="leaves the root"):
        sandbox(root).check_command(["just", "build"])


def test_four_programs_may_be_run_unless_the_campaign_says_otherwise(root: Path, tmp_path: Path) -> None:
    for name in ("fest", "camp", "just", "git", "make", "sh"):
        put_program(tmp_path / "bin", name)
    path = str(tmp_path / "bin")
    assert sandbox(root).program(["fest"], path) == str(tmp_path / "bin/fest")
    with pytest.raises(CommandRefused, match="make is not allowed in this campaign: use camp, fest, git, just"):
        sandbox(root).program(["make"], path)
    allow(root, make=True, git=False)
    assert sandbox(root).program(["make"], path) == str(tmp_path / "bin/make")
    with pytest.raises(CommandRefused, match="git is not allowed"):
        sandbox(root).program(["git"], path)
    (root / ".campaign/settings/allowlist.json").write_text('{"version": 1, "commands": {"make": {"allowed": true}}}')
    with pytest.raises(CommandRefused, match="use make"):
        sandbox(root).program(["just"], path)


@pytest.mark.parametrize(
    "name", ["", "/bin/sh", "./git", "../git", "git status", "git\n", "-x", "a/b", "~/x", "git\0", "sh;x"]
)
def test_a_program_has_a_bare_name(root: Path, name: str) -> None:
    with pytest.raises(CommandRefused):
        sandbox(root).program([name, "status"], "/bin:/usr/bin")
    with pytest.raises(CommandRefused):
        sandbox(root).program([], "/bin:/usr/bin")


def test_a_program_inside_of_the_campaign_is_not_the_one_that_is_meant(root: Path, tmp_path: Path) -> None:
    put_program(root / "bin", "fest")
    (tmp_path / "link").symlink_to(root / "bin")
    for path in (f"{root}/bin", f"{tmp_path}/link", "bin", "", str(root)):
        with pytest.raises(CommandRefused, match="was not found on the PATH"):
            sandbox(root).program(["fest"], path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold one JSON object"),
        ('{"version": 2}', "its version is not 1"),
        ('{"inherit_defaults": 1}', "`inherit_defaults` must be"),
        ('{"commands": []}', "`commands` must be"),
        ('{"commands": {"../sh": {"allowed": true}}}', "is not the bare name"),
        ('{"commands": {"sh": {"allowed": "yes"}}}', "`allowed` of 'sh' must be"),
        ('{"commands": {"sh": true}}', "`allowed` of 'sh' must be"),
        ("[" * 100_000, "is not JSON"),
        (" " * 300_000, "is longer than"),
    ],
)
def test_settings_that_cannot_be_relied_on_let_nothing_run(root: Path, text: str, words: str) -> None:
    allow(root)
    (root / ".campaign/settings/allowlist.json").write_text(text)
    with pytest.raises(CampaignUnusable) as refusal:
        sandbox(root).program(["git"], "/bin:/usr/bin")
    assert words in refusal.value.message


def test_settings_of_another_directory_count_for_nothing(root: Path, tmp_path: Path) -> None:
    allow(root)
    path = root / ".campaign/settings/allowlist.json"
    path.rename(tmp_path / "mine.json")
    path.symlink_to(tmp_path / "mine.json")
    with pytest.raises(CampaignUnusable, match="is a link"):
        sandbox(root).program(["git"], "/bin:/usr/bin")


@pytest.mark.parametrize(
    "argv", [["camp", "x" * 40_000], ["camp", *["x"] * 2000], ["camp", "a\0b"], ["camp", "\ud800"]]
)
def test_words_that_no_program_should_be_given_are_refused(root: Path, argv: list[str]) -> None:
    with pytest.raises(CommandRefused):
        sandbox(root).check_command(argv)


def manifest() -> Manifest:
    commands = [
        {"path": "list", "agent_allowed": True},
        {"path": "project", "agent_allowed": True},
        {"path": "project remove", "agent_allowed": False, "reason": "it removes files"},
        {"path": "camp init", "agent_allowed": True, "interactive": True},
    ]
    return understood("camp", json.dumps({"version": 2, "cli": "camp", "commands": commands}).encode())


@pytest.mark.parametrize("words", ["list", "list --json x", "project", "project --json", "--version", "help", ""])
def test_what_a_program_lets_agents_run_is_run(words: str) -> None:
    manifest().check(words.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("project remove x", "camp project remove is not for agents: it removes files"),
        ("project rm x", "does not list 'rm'"),
        ("project --force remove x", "does not list 'remove'"),
        ("init", "needs a person at a terminal"),
        ("ls", "does not list 'ls'"),
        ("--root x project remove", "does not list '--root'"),
    ],
)
def test_what_a_program_keeps_from_agents_is_refused(words: str, why: str) -> None:
    with pytest.raises(CommandRefused) as refusal:
        manifest().check(words.split())
    assert why in refusal.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"usage: fest",
        b"[]",
        b"{}",
        b'{"commands": [{"path": ""}]}',
        b'{"commands": [{"path": "x"}]}',
        b'{"commands": [{"path": "x", "agent_allowed": "yes"}]}',
        b'{"commands": ["x"]}',
        b"\xff",
    ],
)
def test_a_manifest_that_cannot_be_understood_is_none(data: bytes) -> None:
    with pytest.raises(WrongManifest):
        understood("fest", data)
