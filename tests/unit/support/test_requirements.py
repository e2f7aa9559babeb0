"""BETCODE_REQUIRE decides whether an absent program skips a test or fails it."""

import pytest

from support.plugins.requirements import KNOWN, VARIABLE, absent, is_failure, needs, program, pytest_configure, required


@pytest.mark.parametrize(
    ("value", "names"), [("", set()), ("zsh", {"zsh"}), (" codex, zsh,", {"codex", "zsh"}), ("zsh,zsh", {"zsh"})]
)
def test_names_are_separated_by_commas(value: str, names: set[str]) -> None:
    assert required(value) == names


def test_an_unknown_name_ends_the_run_before_the_first_test(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="BETCODE_REQUIRE has cdoex; known are bash, "):
        required("codex,cdoex")
    monkeypatch.setenv(VARIABLE, "cdoex")
    with pytest.raises(pytest.UsageError, match="cdoex"):
        pytest_configure()


def test_an_absent_program_fails_the_test_where_it_is_required_and_skips_it_elsewhere() -> None:
    assert is_failure("zsh", {"codex", "zsh"})
    assert not is_failure("zsh", {"codex"})
    assert not is_failure("zsh", set())


def test_a_name_that_nobody_could_require_is_an_error() -> None:
    with pytest.raises(ValueError, match="tcsh is missing"):
        is_failure("tcsh", KNOWN)


@pytest.mark.parametrize(("value", "outcome"), [("codex", pytest.skip.Exception), ("zsh", pytest.fail.Exception)])
def test_the_outcome_has_the_reason(monkeypatch: pytest.MonkeyPatch, value: str, outcome: type[BaseException]) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(outcome, match="zsh is absent"):
        absent("zsh", "zsh is absent")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(outcome, match="zsh is not installed"):
        program("zsh")


def test_a_marker_has_the_name_and_the_reason() -> None:
    assert needs("claude", "no wheel").mark.args == ("claude", "no wheel")
