"""The fast tests run on every Python of this machine; the package claims only those that CI can test."""

import os
import sys
from pathlib import Path

import pytest
import pythons
from pythons import NEWER, candidates, claimed, works


def test_the_classifiers_name_the_versions() -> None:
    named = ["Typing :: Typed", "Programming Language :: Python :: 3.11", "Programming Language :: Python :: 3.13"]
    assert claimed(named) == ["3.11", "3.13"]


def test_an_interpreter_is_searched_on_the_path_and_in_pyenv(tmp_path: Path) -> None:
    newer, older = (tmp_path / f"versions/{version}/bin/python3.12" for version in ("3.12.4", "3.12.1"))
    for one in (newer, older):
        one.parent.mkdir(parents=True)
        one.touch()
    path = os.pathsep.join(["/a", "", "/b"])
    assert list(candidates("3.12", path, tmp_path)) == [Path("/a/python3.12"), Path("/b/python3.12"), newer, older]


def test_a_shim_that_fails_or_another_version_is_not_used(tmp_path: Path) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    own = "{}.{}".format(*sys.version_info[:2])
    assert not works(shim, "3.12")
    assert not works(tmp_path / "absent", own)
    assert not works(Path(sys.executable), "3.99")
    assert works(Path(sys.executable), own)


@pytest.mark.parametrize(
    ("present", "installable", "arguments", "code"),
    [
        ({"3.98", "3.99"}, False, ["--require"], 0),
        ({"3.99"}, True, [], 0),
        ({"3.99"}, True, ["--require"], 1),
        ({"3.99"}, False, ["--require"], 0),
    ],
)
def test_an_absent_python_is_named_and_is_an_error_only_if_it_can_be_installed(
    present: set[str],
    installable: bool,
    arguments: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pythons, "claimed", lambda _: ["3.98"])
    monkeypatch.setattr(pythons, "NEWER", ("3.99",))
    monkeypatch.setattr(pythons, "works", lambda _, version: version in present)
    monkeypatch.setattr(pythons, "test_on", lambda *_: 0)
    monkeypatch.setattr(pythons, "can_be_installed", lambda _: installable)
    assert pythons.main(arguments) == code
    said = capsys.readouterr().out
    own = "{}.{}".format(*sys.version_info[:2])
    assert f"tested: {', '.join([f'{own} (by make test)', *sorted(present)])}\n" in said
    absent = sorted({"3.98", "3.99"} - present)
    assert f"not tested: {', '.join(absent) or 'none'}\n" in said


def test_a_failure_on_another_python_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pythons, "claimed", lambda _: ["3.98"])
    monkeypatch.setattr(pythons, "NEWER", ())
    monkeypatch.setattr(pythons, "works", lambda *_: True)
    monkeypatch.setattr(pythons, "test_on", lambda *_: 2)
    assert pythons.main([]) == 1
    assert "FAILED on: 3.98" in capsys.readouterr().out


def test_no_newer_python_is_claimed() -> None:
    project = (pythons.ROOT / "pyproject.toml").read_text()
    assert [version for version in NEWER if f"Python :: {version}" in project] == []
