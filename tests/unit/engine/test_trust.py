"""The list of trusted projects: private, whole, and no trust where it cannot be read."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from betcode.engine.permissions.trust import Trust, TrustedProjects, claude_config


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def trust_of(directory: Path, projects: TrustedProjects, home: Path) -> Trust:
    return Trust(str(directory), projects.path, claude_config({}, str(home)))


def test_a_project_is_trusted_until_that_is_taken_back(tmp_path: Path, project: Path) -> None:
    projects = TrustedProjects(tmp_path / "trusted.json")
    trust = trust_of(project, projects, tmp_path)
    assert not trust.read()
    assert projects.set(str(project), trusted=True, by="me")
    assert not projects.set(str(project), trusted=True, by="you")
    assert trust.has_changed
    assert trust.read()
    [listed] = projects.listed()
    assert (listed.directory, listed.by) == (str(project), "me")
    assert projects.set(str(project), trusted=False, by="me")
    assert not trust.read()
    assert projects.listed() == []


def test_the_list_is_private_and_leaves_nothing_beside_it(tmp_path: Path, project: Path) -> None:
    projects = TrustedProjects(tmp_path / "state" / "trusted.json")
    projects.path.parent.mkdir()
    projects.set(str(project), trusted=True, by="")
    assert stat.S_IMODE(projects.path.stat().st_mode) == 0o600
    assert list(projects.path.parent.iterdir()) == [projects.path]


def test_a_link_to_a_project_is_the_project(tmp_path: Path, project: Path) -> None:
    projects = TrustedProjects(tmp_path / "trusted.json")
    (tmp_path / "link").symlink_to(project)
    projects.set(str(tmp_path / "link"), trusted=True, by="")
    assert trust_of(project, projects, tmp_path).read()
    assert trust_of(tmp_path / "link", projects, tmp_path).read()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": 1}', '{"projects": {"/x": 1}}', "null"])
def test_a_list_that_cannot_be_read_trusts_nobody(tmp_path: Path, project: Path, text: str) -> None:
    projects = TrustedProjects(tmp_path / "trusted.json")
    projects.path.write_text(text)
    (tmp_path / ".claude.json").write_text(text)
    assert not trust_of(project, projects, tmp_path).read()
    assert projects.listed() == []


def test_a_no_is_remembered_until_the_project_is_trusted(tmp_path: Path, project: Path) -> None:
    projects = TrustedProjects(tmp_path / "trusted.json")
    projects.decline(str(project), "digest", by="me")
    assert projects.declined() == {str(project): "digest"}
    projects.set(str(project), trusted=True, by="me")
    assert projects.declined() == {}


def test_of_very_many_noes_the_oldest_are_forgotten(tmp_path: Path) -> None:
    entries = {f"/p{number}": {"digest": "d", "at_ns": number, "by": ""} for number in range(1000)}
    projects = TrustedProjects(tmp_path / "trusted.json")
    projects.path.write_text(json.dumps({"version": 1, "projects": {}, "declined": entries}))
    projects.decline("/new", "d", by="")
    assert list(projects.declined()) == [*list(entries)[1:], "/new"]


def test_a_list_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = TrustedProjects(tmp_path / "state" / "trusted.json")
    projects.path.parent.mkdir()
    projects.set(str(project), trusted=True, by="")
    before = projects.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        projects.set(str(project), trusted=False, by="")
    assert projects.path.read_bytes() == before
    assert list(projects.path.parent.iterdir()) == [projects.path], "nothing unfinished lies beside it"


@pytest.mark.parametrize("value", [1, "true", [True]])
def test_only_a_plain_yes_of_claude_code_counts(tmp_path: Path, project: Path, value: object) -> None:
    projects = TrustedProjects(tmp_path / "trusted.json")

    def accept(answer: object) -> None:
        entry = {str(project): {"hasTrustDialogAccepted": answer}}
        (tmp_path / ".claude.json").write_text(json.dumps({"projects": entry}))

    accept(value)
    assert not trust_of(project, projects, tmp_path).read()
    accept(True)
    assert trust_of(project, projects, tmp_path).read()
    assert not trust_of(tmp_path, projects, tmp_path).read()
    (project / "below").mkdir()
    assert not trust_of(project / "below", projects, tmp_path).read(), "without a repository only itself counts"


def test_claude_code_may_keep_its_list_elsewhere() -> None:
    assert claude_config({"CLAUDE_CONFIG_DIR": "/elsewhere"}, "/home/x") == Path("/elsewhere/.claude.json")
    assert claude_config({}, "/home/x") == Path("/home/x/.claude.json")
