import argparse

import pytest

from betcode.cli.completion.candidates import candidates
from betcode.cli.core.parser import build_parser
from betcode.cli.run.on_ask import OnAsk, ask_policy


def test_the_three_policies_are_understood() -> None:
    assert ask_policy("deny").on_ask is OnAsk.DENY
    assert ask_policy("park").on_ask is OnAsk.PARK
    waits = ask_policy("wait=1.5h")
    assert (waits.on_ask, waits.wait_s) == (OnAsk.WAIT, 5400.0)


@pytest.mark.parametrize("text", ["ask", "allow", "wait", "wait=", "wait=0s", "wait=soon", "wait=31d", "park=1h", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        ask_policy(text)


@pytest.mark.behaviour("exit-code.5")
def test_a_wrong_policy_ends_with_5(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["run", "--on-ask", "maybe", "hi"])
    assert ended.value.code == 5
    assert "wait=10m" in capsys.readouterr().err


def test_the_policies_are_completed() -> None:
    assert candidates(build_parser(), ["run", "--on-ask", ""]) == [("deny", ""), ("park", ""), ("wait=", "")]
    assert [word for word, _ in candidates(build_parser(), ["permission", ""])] == ["list", "answer", "watch"]
