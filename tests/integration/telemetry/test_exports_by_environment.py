"""The usual variable of OpenTelemetry turns exports on, as the setting does."""

from pathlib import Path

import anyio.to_thread
import pytest

from support.apis.otlp_receiver import receiver
from support.daemon.process import running_daemon

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("telemetry.enabled-by-env")
async def test_the_usual_variable_turns_exports_on(tmp_path: Path) -> None:
    with receiver() as kept:
        variable = {"OTEL_EXPORTER_OTLP_ENDPOINT": kept.endpoint}
        interval = {"observability": {"export_interval": "100ms"}}
        async with running_daemon(tmp_path, settings=interval, environment=variable):
            await anyio.to_thread.run_sync(kept.until, lambda: "betcode_sessions_active" in kept.metrics)
    assert {path for path, _ in kept.bodies} == {"/v1/metrics"}
