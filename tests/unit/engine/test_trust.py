"""The list of trusted projects: private, whole, and no trust where it cannot be read."""

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


def test_claude_code_may_keep_its_list_elsewhere() -> None:
    assert claude_config({"CLAUDE_CONFIG_DIR": "/elsewhere"}, "/home/x") == Path("/elsewhere/.claude.json")
    assert claude_config({}, "/home/x") == Path("/home/x/.claude.json")
