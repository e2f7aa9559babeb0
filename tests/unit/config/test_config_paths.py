"""Where things live."""

import os
from pathlib import Path

import pytest

from betcode.config.paths import RUNTIME_DIRECTORIES, choose_paths


@pytest.mark.behaviour("transport.unix.socket")
def test_the_socket_is_in_the_runtime_directory(tmp_path: Path) -> None:
    paths = choose_paths({"HOME": "/h", "XDG_RUNTIME_DIR": str(tmp_path)})
    assert paths.socket == tmp_path / "betcode" / "daemon.sock"


@pytest.mark.behaviour("transport.unix.socket", "obey.socket")
def test_the_runtime_directory_is_the_users_own_where_nothing_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_user = tmp_path / str(os.getuid())
    of_user.mkdir()
    monkeypatch.setattr("betcode.config.paths.RUNTIME_DIRECTORIES", tmp_path)
    paths = choose_paths({"HOME": "/h"})
    assert paths.socket == of_user / "betcode" / "daemon.sock"
    assert paths.obey_socket == of_user / "obey" / "daemon.sock"
    of_user.rmdir()
    assert choose_paths({"HOME": "/h"}).socket == Path("/h/.config/betcode/daemon.sock")


def test_naming_the_default_state_directory_changes_nothing(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "XDG_RUNTIME_DIR": str(tmp_path)}
    paths = choose_paths(environ)
    assert paths.obey_socket == tmp_path / "obey" / "daemon.sock"
    assert choose_paths(environ, state_dir=paths.state_dir) == paths
    assert choose_paths({**environ, "BETCODE_STATE_DIR": str(paths.state_dir)}) == paths


def test_the_runtime_directories_of_users_are_below_run() -> None:
    assert Path("/run/user") == RUNTIME_DIRECTORIES


@pytest.mark.behaviour("transport.unix.fallback")
def test_without_a_runtime_directory_the_socket_is_beside_the_settings(tmp_path: Path) -> None:
    paths = choose_paths({"HOME": "/h", "XDG_RUNTIME_DIR": str(tmp_path / "missing")})
    assert paths.socket == Path("/h/.config/betcode/daemon.sock")


def test_a_state_directory_of_ones_own_has_a_socket_of_its_own(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert choose_paths(environ, state_dir=Path("/s")).socket == Path("/s/daemon.sock")
    assert choose_paths(environ | {"BETCODE_STATE_DIR": "/s"}).socket == Path("/s/daemon.sock")


def test_a_flag_wins_over_its_variable() -> None:
    environ = {"HOME": "/h", "BETCODE_SOCKET": "/variable", "BETCODE_CONFIG_DIR": "/variable"}
    paths = choose_paths(environ, socket=Path("/flag"))
    assert (paths.socket, paths.config_dir) == (Path("/flag"), Path("/variable"))


def test_a_relative_directory_of_the_desktop_counts_as_none(tmp_path: Path) -> None:
    names = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
    assert choose_paths({"HOME": str(tmp_path), **dict.fromkeys(names, "here")}) == choose_paths(
        {"HOME": str(tmp_path)}
    )
