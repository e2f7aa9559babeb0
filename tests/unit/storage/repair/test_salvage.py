"""What is saved of a database whose pages were torn, exchanged or cut off, and that nothing is lost in silence."""

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from betcode.domain.errors import DatabaseUnusable
from betcode.storage import problems
from betcode.storage.migrations import migrate
from betcode.storage.repair.salvage import salvage
from betcode.storage.sqlite.database import connect, make_private

_PAGE = 4096
_SESSIONS = 4
_EVENTS = 1500
_SESSION = """
INSERT INTO sessions (key, session_id, provider, working_directory, worktree_id, created_ns, status, last_seq, epoch,
    name, model, conversation_id, conversation_began, turn_interrupted, message_count, input_tokens, output_tokens,
    cost_usd, context_percent, preview, updated_ns)
VALUES (?, ?, 'demo', '/', '', 1, 'idle', ?, 1, '', '', '', 0, 0, 1, 1, 1, 0.0, 0.0, '', 1)
"""

Damage = Callable[[bytearray], None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with histories of thousands of events, some of which are longer than a page."""
    path = tmp_path_factory.mktemp("whole") / "betcode.db"
    make_private(path)
    db = connect(path)
    migrate(db, path)
    with db:
        for key in range(1, _SESSIONS + 1):
            db.execute(_SESSION, (key, f"session-{key}", _EVENTS))
            db.executemany("INSERT INTO events (place, kind, data) VALUES (?, ?, ?)", _events(key))
    db.pragma("journal_mode", "delete")
    db.close()
    return path.read_bytes()


def _events(key: int) -> list[tuple[int, int, bytes]]:
    return [(key << 40 | seq, seq % 300, b"%d." % seq * (3000 if seq % 500 == 0 else 20)) for seq in range(1, 1501)]


def _is_inner(data: bytes | bytearray, page: int) -> bool:
    return page > 0 and data[page * _PAGE] == 5


def _cut(data: bytearray) -> None:
    del data[len(data) // _PAGE * 2 // 3 * _PAGE :]


def _inner_page_torn(data: bytearray) -> None:
    page = max(page for page in range(len(data) // _PAGE) if _is_inner(data, page))
    data[page * _PAGE : (page + 1) * _PAGE] = b"\xff" * _PAGE


def _first_leaf_torn(data: bytearray) -> None:
    first = next(
        at for at in range(_PAGE, len(data), _PAGE) if data[at] == 13 and b"1.1.1.1.1." in data[at : at + _PAGE]
    )
    data[first : first + _PAGE] = b"\xff" * _PAGE


def _pages_exchanged(data: bytearray) -> None:
    generator = random.Random(3)
    leaves = [at for at in range(40 * _PAGE, len(data), _PAGE) if data[at] == 13]
    for one, other in zip(generator.sample(leaves, 10), generator.sample(leaves, 10), strict=True):
        kept = bytes(data[one : one + _PAGE])
        data[one : one + _PAGE] = data[other : other + _PAGE]
        data[other : other + _PAGE] = kept


@pytest.mark.parametrize(
    ("damage", "at_least"),
    [
        pytest.param(_inner_page_torn, _SESSIONS * _EVENTS, id="a page of the tree"),
        pytest.param(_pages_exchanged, _SESSIONS * _EVENTS, id="exchanged pages"),
        pytest.param(_first_leaf_torn, _SESSIONS * _EVENTS - 100, id="the first leaf"),
        pytest.param(_cut, _SESSIONS * _EVENTS // 3, id="the end of the file"),
    ],
)
def test_what_stands_on_whole_pages_is_saved_and_the_rest_is_counted(
    whole: bytes, tmp_path: Path, damage: Damage, at_least: int
) -> None:
    data = bytearray(whole)
    damage(data)
    damaged, saved = tmp_path / "damaged.db", tmp_path / "saved.db"
    damaged.write_bytes(data)
    result = salvage(damaged, saved)
    assert list(problems(saved, full=True)) == []
    kept = dict(_rows(saved))
    assert result.kept["sessions"] == _SESSIONS
    assert len(kept) == result.kept["events"] >= at_least
    assert result.missing == _SESSIONS * _EVENTS - len(kept)
    expected = {place: event for key in range(1, _SESSIONS + 1) for place, *event in _events(key)}
    assert all(expected[place] == event for place, event in kept.items())


def _rows(path: Path) -> list[tuple[int, list[object]]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [(place, event) for place, *event in db.execute("SELECT place, kind, data FROM events")]
    finally:
        db.close()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_damaged_ends_and_says_what_is_lost(whole: bytes, tmp_path: Path, seed: int) -> None:
    data = bytearray(whole)
    generator = random.Random(seed)
    for _ in range(generator.choice((3, 30, 300))):
        data[generator.randrange(100, len(data))] = generator.randrange(256)
    damaged, saved = tmp_path / "damaged.db", tmp_path / "saved.db"
    damaged.write_bytes(data)
    try:
        result = salvage(damaged, saved)
    except DatabaseUnusable:
        return  # not even its tables are found, which was said
    assert list(problems(saved, full=True)) == []
    is_less = result.kept["events"] < _SESSIONS * _EVENTS or result.kept["sessions"] < _SESSIONS
    is_told = bool(result.orphans or result.missing or any(result.torn.values()))
    assert is_told or not is_less


def test_a_row_that_nobody_can_have_written_is_counted(whole: bytes, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(whole)
    db = apsw.Connection(str(damaged))
    db.pragma("writable_schema", 1)
    db.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'sessions'")
    db.close()
    db = apsw.Connection(str(damaged))
    db.execute("UPDATE sessions SET status = NULL WHERE key = 2")
    db.close()
    result = salvage(damaged, tmp_path / "saved.db")
    assert (result.kept["sessions"], result.torn["sessions"], result.orphans) == (_SESSIONS - 1, 1, _EVENTS)


def test_an_epoch_that_is_no_number_does_not_keep_the_next_daemon_from_its_work(whole: bytes, tmp_path: Path) -> None:
    damaged, saved = tmp_path / "damaged.db", tmp_path / "saved.db"
    damaged.write_bytes(whole)
    db = apsw.Connection(str(damaged))
    db.execute("INSERT INTO meta (name, value) VALUES ('epoch', 'x7'), ('incarnation', 'mine')")
    db.close()
    salvage(damaged, saved)
    db = apsw.Connection(str(saved))
    meta = dict(db.execute("SELECT name, value FROM meta"))
    db.close()
    assert (meta["epoch"].isdigit(), meta["incarnation"]) == (True, "mine")
