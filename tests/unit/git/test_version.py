"""Which git is new enough, by what it says of itself."""

import pytest

from betcode.git.version import unfit, version_of


@pytest.mark.parametrize(
    "said",
    ["git version 2.36.0", "git version 2.39.5 (Apple Git-154)", "git version 3.0.rc1", "git version 2.47.windows.1"],
)
def test_a_new_git_is_fit(said: str) -> None:
    assert unfit(said) == ""


@pytest.mark.parametrize("said", ["git version 2.35.9", "git version 1.99", "git version 2.7.4\n"])
def test_an_old_git_is_told_with_what_to_do(said: str) -> None:
    assert unfit(said) == f"{version_of(said)} is too old: install git 2.36 or newer"


@pytest.mark.parametrize("said", ["", "usage: git", "git version x.y"])
def test_one_that_does_not_say_is_not_used(said: str) -> None:
    assert "install git 2.36 or newer" in unfit(said)
