import anyio
import pytest

from betcode.util import background_loops
from betcode.util.background_loops import keep_running, next_delay_s, run_once


@pytest.mark.parametrize(
    ("before_s", "ran_s", "delay_s"),
    [(0.0, 0.0, 1.0), (1.0, 0.0, 2.0), (2.0, 5.0, 4.0), (32.0, 0.0, 60.0), (60.0, 0.0, 60.0), (60.0, 120.0, 1.0)],
)
def test_the_delay_grows_until_a_loop_has_run_for_a_while(before_s: float, ran_s: float, delay_s: float) -> None:
    assert next_delay_s(before_s, ran_s) == delay_s


@pytest.mark.anyio
async def test_a_loop_that_fails_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_loops, "FIRST_DELAY_S", 0.001)
    runs = 0

    async def loop(until: int) -> None:
        nonlocal runs
        runs += 1
        if runs < until:
            raise ValueError(str(runs))

    with anyio.fail_after(10):
        await keep_running("loop", loop, 3)
    assert runs == 3


@pytest.mark.anyio
async def test_an_error_in_a_background_task_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError

    await run_once("task", work)
    assert "the background task task failed" in caplog.text
