"""The fast tests run on every Python that the package claims."""

import os
import sys
from pathlib import Path

from pythons import candidates, claimed, works


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
