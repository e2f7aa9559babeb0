"""What every test stands on."""

import gc
import os
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from support.plugins import requirements, wide
from support.plugins.behaviour_record import BehaviourRecord
from support.plugins.leftovers import end_leftovers
from support.plugins.summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

# Started in the background of a script, this process ignores Ctrl-C, and so would every program that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

set_hypothesis_home_dir(Path(__file__).parent.parent / ".cache" / "hypothesis")
# The speed of the machine is not tested. `make soak` runs many more examples.
settings.register_profile(
    "betcode",
    max_examples=1000 if os.environ.get("BETCODE_SOAK") else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("betcode")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(requirements)
    config.pluginmanager.register(wide)
    config.pluginmanager.register(BehaviourRecord(config.rootpath / ".cache"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays until the end, so that no search for what nobody holds goes through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests run on asyncio, as grpc.aio does."""
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def nothing_left_running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """After a module's tests, and its own fixtures, no process of theirs is left."""
    yield
    end_leftovers(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Keeps the loop from a module's first test to its last: grpc.aio's poller may meet a closed one otherwise."""
    yield  # noqa: PT022 a generator is what keeps the loop
