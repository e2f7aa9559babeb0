"""The order of stdout and stderr, on a terminal and in a pipe."""

import io

from betcode.cli.terminal.console import Screen
from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import turn_summary


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_never_follows_the_answer_on_its_line_in_a_pipe() -> None:
    out = io.StringIO()
    screen = Screen(out, io.StringIO(), colour=False)
    screen.answer("I will run a command.")
    screen.line("● Bash ls")
    assert out.getvalue() == "I will run a command.\n● Bash ls\n"


def test_a_note_does_not_cut_the_answer_in_a_pipe() -> None:
    out = io.StringIO()
    screen = Screen(out, io.StringIO(), colour=False)
    screen.answer("one ")
    screen.note("beside")
    screen.answer("sentence")
    assert out.getvalue() == "one sentence"


def test_a_note_starts_a_line_after_an_unanswered_question() -> None:
    terminal = Tty()
    screen = Screen(terminal, terminal, colour=False)
    screen.ask("Allow? ")
    screen.note("Allowed")
    screen.ask("Allow? ")
    screen.typed()  # the person's Enter has ended the line
    screen.note("Allowed")
    assert terminal.getvalue() == "Allow? \nAllowed\nAllow? Allowed\n"


def test_a_line_for_a_decision_is_not_dim() -> None:
    terminal = Tty()
    screen = Screen(terminal, terminal, colour=True)
    screen.note("beside")
    screen.show("command: rm")
    assert terminal.getvalue() == "\x1b[2mbeside\x1b[0m\ncommand: rm\n"


def test_uncounted_tokens_are_not_mentioned() -> None:
    assert turn_summary(v1.UsageReport(duration_ms=4100)) == "4.1 s"
    counted = v1.UsageReport(duration_ms=4100, input_tokens=1200, output_tokens=3, cost_usd=0.5)
    assert turn_summary(counted) == "4.1 s, 1,200 tokens in, 3 out, $0.5000"


def test_a_note_begins_a_line_after_ctrl_c() -> None:
    terminal = Tty()
    screen = Screen(terminal, terminal, colour=False)
    terminal.write("^C")
    screen.interrupted()
    screen.note("Interrupting")
    screen.answer("some words")
    terminal.write("^C")
    screen.interrupted()
    screen.note("Left")
    assert terminal.getvalue() == "^C\nInterrupting\nsome words^C\nLeft\n"
