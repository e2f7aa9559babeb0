"""When a connection is closed because its client opens and resets streams in a loop."""

import socket
from pathlib import Path

import pytest

from betcode.domain.metrics.request_counts import RequestCounts
from betcode.server.listeners.reset_floods import (
    FORGET_AFTER_S,
    LEAST_SIGHTINGS,
    LEAST_SPAN_S,
    STREAMS_PER_S,
    ResetFloods,
    ResetSample,
    is_flood,
    recent,
)
from support.daemon.reset_flood import call_frames


def sightings(many: int, span_s: float, per_s: float) -> list[ResetSample]:
    times = [span_s * number / (many - 1) for number in range(many)]
    return [ResetSample(100 + at_s, 1 + 2 * round(per_s * at_s)) for at_s in times]


@pytest.mark.parametrize("per_s", [STREAMS_PER_S * 1.1, 20_000, 500_000])
def test_many_resets_over_some_time_are_a_flood(per_s: float) -> None:
    assert is_flood(sightings(LEAST_SIGHTINGS, LEAST_SPAN_S * 1.1, per_s))


@pytest.mark.parametrize(
    "seen",
    [
        [],
        [ResetSample(1, 1)],
        sightings(LEAST_SIGHTINGS - 1, 2.0, 20_000),
        sightings(30, LEAST_SPAN_S * 0.9, 20_000),
        sightings(30, 2.0, 200),
        sightings(30, 2.0, STREAMS_PER_S * 0.9),
        sightings(30, 2.0, 0),
    ],
    ids=[
        "nothing",
        "one",
        "few",
        "a backlog after a pause",
        "200 a second",
        "just below",
        "a server that does not read",
    ],
)
def test_less_is_no_flood(seen: list[ResetSample]) -> None:
    assert not is_flood(seen)


def test_old_sightings_are_forgotten() -> None:
    old, new = ResetSample(1, 1), ResetSample(5, 9)
    assert recent([old, new], 5 + FORGET_AFTER_S - 1) == (new,)


class Reader:
    """The server's end of a connection, which reads only on request."""

    def __init__(self, path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            self.client = socket.socket(socket.AF_UNIX)
            self.client.connect(str(path))
            self.served, _ = listening.accept()
        self.now_s = 100.0
        self.stream = 1
        self.client.setblocking(False)
        self.served.setblocking(False)

    def send(self, many: int) -> None:
        """Send calls that are reset, which the server does not read yet."""
        after = self.stream + 2 * many
        self.client.sendall(b"".join(call_frames("/a.B/C", each) for each in range(self.stream, after, 2)))
        self.stream = after

    def read_all(self) -> None:
        try:
            while self.served.recv(65536):
                pass
        except BlockingIOError:
            pass

    def clock(self) -> float:
        self.now_s += 0.01
        return self.now_s

    @property
    def is_closed(self) -> bool:
        try:
            return self.client.recv(1) == b""
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.client.close()
        self.served.close()


@pytest.mark.parametrize(("listener", "is_watched"), [("s", True), ("other", False)])
def test_a_connection_that_floods_is_closed_if_its_listener_is_watched(
    tmp_path: Path, listener: str, is_watched: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reader, counts = Reader(tmp_path / "s"), RequestCounts()
    floods = ResetFloods(counts, reader.clock)
    with floods.watching(str(tmp_path / listener)):
        for _ in range(40):
            if reader.is_closed:
                break
            reader.read_all()
            reader.send(400)
            floods.check()
    assert reader.is_closed is is_watched
    assert counts.connections_closed == int(is_watched)
    assert ("opens and resets HTTP/2 streams" in caplog.text) is is_watched
    reader.close()


def test_a_backlog_that_nobody_reads_is_not_closed(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "s")
    floods = ResetFloods(RequestCounts(), reader.clock)
    reader.send(400)
    with floods.watching(str(tmp_path / "s")):
        for _ in range(15):
            assert floods.check()
    assert not reader.is_closed
    reader.close()


def test_a_sample_takes_nothing_from_the_server(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "s")
    floods = ResetFloods(RequestCounts(), reader.clock)
    reader.send(400)
    with floods.watching(str(tmp_path / "s")):
        floods.check()
    assert reader.served.recv(10) == call_frames("/a.B/C", 1)[:10]
    reader.close()
