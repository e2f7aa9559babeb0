"""Lines of the daemon's log for people."""

import json

import pytest

from betcode.cli.daemon.control import plain


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("  A daemon already runs  ", "A daemon already runs"),
        (json.dumps({"level": "info", "message": "listening"}), ""),
        (json.dumps({"level": "error", "message": "cannot serve: no room"}), "cannot serve: no room"),
        (
            json.dumps({"level": "error", "message": "it ends", "exception": "Traceback:\n  | OSError: gone\n  +----"}),
            "it ends (OSError: gone)",
        ),
        ("[1]", "[1]"),
    ],
)
def test_a_log_line_is_reduced_to_its_message(line: str, told: str) -> None:
    assert plain(line) == told
