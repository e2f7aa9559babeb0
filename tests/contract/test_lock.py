"""The lock is for everybody: it names one public index and where that keeps its files, nobody's mirror."""

import re
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent.parent


def test_the_lock_names_one_index_and_nobodys_mirror() -> None:
    lock = (ROOT / "uv.lock").read_text()
    registries = set(re.findall(r'registry = "([^"]+)"', lock))
    assert len(registries) == 1
    hosts = {urlsplit(url).hostname for url in re.findall(r'url = "([^"]+)"', lock)}
    assert len(hosts) == 1
    for address in registries | {f"https://{host}" for host in hosts}:
        assert address.startswith("https://")
        assert not re.search(r"proxy|mirror|artifact|internal|localhost|\d+\.\d+\.\d+", address)
