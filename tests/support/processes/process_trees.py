"""Which processes a test may end: those at and below processes that it started, and never one above itself."""

import os
from collections.abc import Collection, Mapping

from betcode.holder.platform import Process


def self_and_ancestors(table: Mapping[int, Process], own: int | None = None) -> set[int]:
    """This process and every process above it."""
    above: set[int] = set()
    pid = os.getpid() if own is None else own
    while pid in table and pid not in above:
        above.add(pid)
        pid = table[pid].parent
    return above


def trees_below(table: Mapping[int, Process], roots: Collection[int], own: int | None = None) -> list[Process]:
    """The living processes at and below `roots`.

    A root that is pid 0 or 1, this process or one above it is ignored: a file of a test can name any pid, and below
    these are all other processes of the machine.
    """
    forbidden = self_and_ancestors(table, own) | {0, 1}
    wanted = {pid for pid in roots if pid > 1} - forbidden
    found: dict[int, Process] = {}
    wave = [table[pid] for pid in wanted if pid in table]
    while wave:
        found |= {one.pid: one for one in wave}
        parents = {one.pid for one in wave}
        wave = [one for one in table.values() if one.parent in parents and one.pid not in found]
    return [one for one in found.values() if not one.zombie and one.pid not in forbidden]
