"""What the program is started with: the key is taken out of the environment, wherever it stands in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from betcode.agents.openai.options import parse

ARGV = ["--transcripts=/tmp/x", "--key-variable=THE_KEY"]


def test_no_variable_has_the_key_any_more() -> None:
    environ = {"THE_KEY": "sk-1", "ANOTHER_NAME": "sk-1", "PATH": "/bin"}
    options = parse(ARGV, environ)
    assert options.key == "sk-1"
    assert environ == {"PATH": "/bin"}
    assert "sk-1" not in repr(options)


def test_a_variable_that_has_the_key_in_it_is_gone_and_a_short_key_takes_nothing_along() -> None:
    long = "sk-0123456789abcdef0123"
    environ = {"THE_KEY": f"{long}\n", "HEADERS": f"Authorization: Bearer {long}", "PATH": "/bin"}
    assert parse(ARGV, environ).key == long
    assert environ == {"PATH": "/bin"}
    environ = {"THE_KEY": "ollama", "USER_NAME": "ollama", "PATH": "/opt/ollama/bin"}
    parse(ARGV, environ)
    assert environ == {"PATH": "/opt/ollama/bin"}


def test_without_a_key_nothing_is_taken() -> None:
    environ = {"EMPTY": "", "PATH": "/bin"}
    assert parse(ARGV, environ).key == ""
    assert environ == {"EMPTY": "", "PATH": "/bin"}


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")
def test_the_kernel_does_not_show_the_key_either() -> None:
    code = (
        "import os, pathlib; from betcode.agents.openai.options import parse\n"
        f"parse({ARGV!r}, os.environ)\n"
        "print(pathlib.Path('/proc/self/environ').read_bytes())"
    )
    environment = {"THE_KEY": "sk-1234", "SEEN": "yes"}
    shown = subprocess.run([sys.executable, "-I", "-c", code], env=environment, capture_output=True, check=True).stdout
    assert b"SEEN=yes" in shown
    assert b"sk-1234" not in shown
