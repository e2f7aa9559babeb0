import re

import pytest

from betcode.cli.core.identity import own_identity, shown_client
from betcode.cli.core.options import options_from
from betcode.cli.core.parser import build_parser


def test_an_id_names_its_user_and_is_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada \u00e9")
    options = options_from(build_parser().parse_args(["permission", "list"]), {"HOME": "/home/ada"})
    one, other = own_identity(options), own_identity(options)
    assert re.fullmatch(r"ada__@[A-Za-z0-9._-]+-[0-9a-f]{8}", one.client_id)
    assert one.client_id != other.client_id
    assert one.client_name.startswith("ada \u00e9@")


@pytest.mark.parametrize(
    ("client_id", "shown"),
    [
        ("ada@laptop-0123abcd", "ada@laptop"),
        ("ada@laptop-0123abcd (pid 17)", "ada@laptop"),
        ("ada@build-7-0123abcd", "ada@build-7"),
        ("ada@laptop", "ada@laptop"),
        ("0123abcd4567", "0123abcd4567"),
        ("deploy-0123abcd", "deploy-0123abcd"),
        ("", ""),
    ],
)
def test_people_see_the_id_of_a_command_without_its_random_end(client_id: str, shown: str) -> None:
    assert shown_client(client_id) == shown
