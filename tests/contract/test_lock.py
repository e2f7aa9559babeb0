"""The committed lock names the public index alone, so that it serves everyone."""

import re

from proto_compat import ROOT


def test_the_lock_names_no_other_host_than_the_public_index() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text(encoding="utf-8")))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
