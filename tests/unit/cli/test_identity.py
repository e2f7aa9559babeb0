import re

import pytest

from betcode.cli.identity import own_identity
from betcode.cli.options import options_from
from betcode.cli.parser import build_parser


def test_an_id_says_whose_it_is_and_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada \u00e9")
    options = options_from(build_parser().parse_args(["permission", "list"]), {"HOME": "/home/ada"})
    one, other = own_identity(options), own_identity(options)
    assert re.fullmatch(r"ada__@[A-Za-z0-9._-]+-[0-9a-f]{8}", one.client_id)
    assert one.client_id != other.client_id
    assert one.client_name.startswith("ada \u00e9@")
