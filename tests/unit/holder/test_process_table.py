"""The process table is read until it is complete: no process hides by forking while it is read."""

import sys

import pytest

from betcode.holder import platform
from betcode.holder.platform import Process
from betcode.holder.process_tree import Membership, ProcessTree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the list of /proc")

HOLDER = Process(pid=40, parent=1, start=400, zombie=False)


class HoppingProcess:
    """Forks and exits each time the list was read: the listed process is gone, its child is not listed yet."""

    def __init__(self, hops: int) -> None:
        self._hops = hops
        self._pid = 50

    def listed(self, _path: str) -> list[str]:
        names = ["1", str(self._pid), "uptime"]
        if self._hops:
            self._hops -= 1
            self._pid += 1
        return names

    def read(self, pid: int) -> Process | None:
        if pid == 1:
            return Process(pid=1, parent=0, start=1, zombie=False)
        return Process(pid=pid, parent=1, start=pid * 10, zombie=False) if pid == self._pid else None


@pytest.mark.parametrize("hops", [1, 3, 15])
def test_a_process_that_forks_while_the_table_is_read_is_in_it(monkeypatch: pytest.MonkeyPatch, hops: int) -> None:
    hopping = HoppingProcess(hops)
    monkeypatch.setattr("os.listdir", hopping.listed)
    monkeypatch.setattr(platform, "process", hopping.read)
    assert set(platform.processes()) == {1, 50 + hops}


def test_a_process_that_killed_its_holder_cannot_hide_from_the_next_observation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ProcessTree()
    tree.add_holder(HOLDER, None, "run-1")
    hopping = HoppingProcess(1)
    monkeypatch.setattr("os.listdir", hopping.listed)
    monkeypatch.setattr(platform, "process", hopping.read)
    tree.observe(platform.processes())
    found = tree.known(51, hopping.read)
    assert found is not None
    assert found.membership is Membership.SUSPECT


def test_a_machine_that_starts_processes_without_pause_has_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    hopping = HoppingProcess(1_000_000)
    monkeypatch.setattr("os.listdir", hopping.listed)
    monkeypatch.setattr(platform, "process", hopping.read)
    assert 1 in platform.processes()
