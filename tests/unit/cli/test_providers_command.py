"""The output of `betcode providers KIND`, with literals."""

import io

from betcode.cli.terminal.console import Screen
from betcode.cli.version.providers import show
from betcode.v1 import agent_pb2 as v1


class Narrow(Screen):
    @property
    def width(self) -> int:
        return 50


def test_long_words_about_a_key_are_broken_between_words() -> None:
    out = io.StringIO()
    says = "what a command may touch once it is allowed: read-only or workspace-write"
    one = v1.ProviderInfo(name="codex", config_keys={"sandbox": says, "effort": "how long"})
    show(one, Narrow(out, io.StringIO(), colour=False))
    assert out.getvalue().endswith(
        "  effort   how long\n"
        "  sandbox  what a command may touch once it is\n"
        "           allowed: read-only or workspace-write\n"
    )
