"""The compatibility check lets the contract grow, and refuses to let it change."""

import shutil
import subprocess
from pathlib import Path

import pytest
from proto_compat import ROOT, baselines, breaking, complaints

from support.plugins.requirements import program

AGENT = "betcode/v1/agent.proto"
EARLIER = """
syntax = "proto3";
package betcode.v1;
service Greeter { rpc Greet(Greeting) returns (Greeting); }
message Greeting {
  string text = 1;
  uint32 times = 2;
  reserved 3;
}
enum Mood { MOOD_UNSPECIFIED = 0; GLAD = 1; }
"""


def breaks(tmp_path: Path, old: str, new: str) -> list[str]:
    """What the check says of `EARLIER` once `old` has become `new`."""
    assert EARLIER.count(old) == 1, f"{old!r} must occur once"
    for name, text in (("earlier", EARLIER), ("current", EARLIER.replace(old, new))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "greeting.proto").write_text(text)
    return breaking(tmp_path / "current", tmp_path / "earlier")


@pytest.mark.behaviour("contract.compat.additive-passes")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("reserved 3;", "reserved 3; string who = 4;", id="field"),
        pytest.param("enum Mood", "message Farewell { string text = 1; } enum Mood", id="message"),
        pytest.param("GLAD = 1;", "GLAD = 1; SAD = 2;", id="enum value"),
        pytest.param("returns (Greeting);", "returns (Greeting); rpc Part(Greeting) returns (Greeting);", id="rpc"),
        pytest.param("enum Mood", "service Parter { rpc Part(Greeting) returns (Greeting); } enum Mood", id="service"),
    ],
)
def test_what_is_added_passes(tmp_path: Path, old: str, new: str) -> None:
    assert breaks(tmp_path, old, new) == []


@pytest.mark.behaviour("contract.compat.number-or-type-rejected")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("uint32 times = 2", "uint32 times = 4", id="number"),
        pytest.param("uint32 times = 2", "int64 times = 2", id="type"),
        pytest.param("uint32 times = 2", "fixed32 times = 2", id="encoding"),
        pytest.param("uint32 times = 2", "repeated uint32 times = 2", id="cardinality"),
        pytest.param("GLAD = 1", "GLAD = 2", id="enum number"),
        pytest.param("rpc Greet(Greeting)", "rpc Greet(stream Greeting)", id="streaming"),
    ],
)
def test_a_changed_number_or_type_is_rejected(tmp_path: Path, old: str, new: str) -> None:
    assert breaks(tmp_path, old, new)


@pytest.mark.behaviour("contract.compat.rename-rejected")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("string text = 1", "string content = 1", id="field"),
        pytest.param("GLAD = 1", "HAPPY = 1", id="enum value"),
        pytest.param("rpc Greet(", "rpc Salute(", id="rpc"),
        pytest.param("enum Mood {", "enum Temper {", id="enum"),
        pytest.param("service Greeter", "service Welcomer", id="service"),
    ],
)
def test_a_rename_is_rejected(tmp_path: Path, old: str, new: str) -> None:
    assert breaks(tmp_path, old, new)


@pytest.mark.behaviour("contract.compat.removal-rejected")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("uint32 times = 2;", "", id="field"),
        pytest.param("uint32 times = 2;", 'reserved 2; reserved "times";', id="field, number reserved"),
        pytest.param("enum Mood { MOOD_UNSPECIFIED = 0; GLAD = 1; }", "", id="enum"),
        pytest.param("GLAD = 1;", "", id="enum value"),
        pytest.param("rpc Greet(Greeting) returns (Greeting);", "", id="rpc"),
    ],
)
def test_a_removal_is_rejected(tmp_path: Path, old: str, new: str) -> None:
    assert breaks(tmp_path, old, new)


@pytest.mark.behaviour("contract.compat.removal-rejected", "contract.compat.rename-rejected")
def test_a_removed_or_renamed_message_is_rejected(tmp_path: Path) -> None:
    for name in ("earlier", "renamed", "removed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "greeting.proto").write_text(EARLIER)
    lonely = "message Farewell { string text = 1; }"
    (tmp_path / "earlier" / "greeting.proto").write_text(EARLIER + lonely)
    (tmp_path / "renamed" / "greeting.proto").write_text(EARLIER + lonely.replace("Farewell", "Parting"))
    assert breaking(tmp_path / "renamed", tmp_path / "earlier")
    assert breaking(tmp_path / "removed", tmp_path / "earlier")


@pytest.mark.behaviour("contract.compat.removal-rejected")
def test_a_removed_file_is_rejected(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    (tmp_path / "proto/betcode/v1/tunnel.proto").unlink()
    assert breaking(tmp_path / "proto", ROOT / "proto")


@pytest.mark.behaviour("contract.compat.numbers-never-reused")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("reserved 3;", "bool loud = 3;", id="a reserved number"),
        pytest.param("uint32 times = 2;", "bool loud = 2;", id="a number in use"),
        pytest.param("reserved 3;", "", id="the reservation dropped"),
    ],
)
def test_a_number_is_never_given_out_again(tmp_path: Path, old: str, new: str) -> None:
    assert breaks(tmp_path, old, new)


@pytest.mark.behaviour("contract.compat.numbers-never-reused")
def test_the_reserved_numbers_of_the_encrypted_envelope_cannot_be_used(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    agent = tmp_path / "proto" / AGENT
    text = agent.read_text()
    assert text.count("  reserved 23;") == 1
    agent.write_text(text.replace("  reserved 23;", "  string taken = 23;"))
    assert breaking(tmp_path / "proto", ROOT / "proto")


class Repository:
    """A small clone-like repository with a proto/ folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", self.root, *identity, *arguments], check=True, capture_output=True)

    def write(self, text: str) -> None:
        (self.root / "proto").mkdir(exist_ok=True)
        (self.root / "proto" / "greeting.proto").write_text(text)

    def commit(self, text: str) -> None:
        self.write(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    program("git")
    return Repository(tmp_path)


BROKEN = EARLIER.replace("times = 2", "times = 4")
GROWN = EARLIER.replace("reserved 3;", "reserved 3; string who = 4;")


def test_without_any_commit_there_is_nothing_to_break(repository: Repository) -> None:
    repository.write(EARLIER)
    assert complaints(repository.root) == ([], [])


def test_the_first_commit_passes(repository: Repository) -> None:
    repository.commit(EARLIER)
    compared, found = complaints(repository.root)
    assert (len(compared), found) == (1, [])


@pytest.mark.behaviour("contract.compat.number-or-type-rejected")
def test_a_break_is_seen_before_it_is_committed(repository: Repository) -> None:
    repository.commit(EARLIER)
    repository.write(BROKEN)
    assert complaints(repository.root)[1]


@pytest.mark.behaviour("contract.compat.number-or-type-rejected")
def test_a_break_is_seen_in_a_clean_clone_even_after_further_commits(repository: Repository) -> None:
    repository.commit(EARLIER)
    repository.commit(BROKEN)
    repository.commit(BROKEN)  # changes nothing under proto/
    assert complaints(repository.root)[1]


@pytest.mark.behaviour("contract.compat.number-or-type-rejected")
def test_a_break_on_a_branch_is_found_against_the_merge_base(repository: Repository) -> None:
    repository.commit(EARLIER)
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.commit(BROKEN)
    repository.commit(BROKEN + "// said again\n")
    assert complaints(repository.root)[1]


@pytest.mark.behaviour("contract.compat.removal-rejected")
def test_a_break_with_the_last_release_stays_visible(repository: Repository) -> None:
    repository.commit(EARLIER)
    repository.git("tag", "v1.0.0")
    repository.commit(BROKEN)
    repository.commit(BROKEN + "// said again\n")
    assert complaints(repository.root)[1]


def test_growth_passes_in_every_comparison(repository: Repository) -> None:
    repository.commit(EARLIER)
    repository.git("tag", "v1.0.0")
    repository.commit(GROWN)
    assert len(baselines(repository.root)) == 2
    assert complaints(repository.root)[1] == []
