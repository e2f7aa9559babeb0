"""The login shell's environment."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.engine.agents.login_shell import parse_environment


def test_values_with_newlines_and_equal_signs_are_kept_whole() -> None:
    assert parse_environment(b"A=1\0B=x=y\nz\0\0") == {"A": "1", "B": "x=y\nz"}


def test_what_is_not_a_pair_is_left_out() -> None:
    assert parse_environment(b"no pair\0=x\0greeting\nPATH=/bin\0HOME=/h") == {"HOME": "/h"}


@given(st.binary(max_size=200))
def test_any_answer_is_read_without_raising(answer: bytes) -> None:
    for name in parse_environment(answer):
        assert name
