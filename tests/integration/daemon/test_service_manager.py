"""A daemon under a service manager says when it serves, that it lives, and when it stops."""

import signal
import subprocess
from pathlib import Path

import pytest

from support.daemon.notify_socket import service_words
from support.daemon.process import Daemon
from support.patience import PATIENCE_S


@pytest.mark.behaviour("health.systemd")
def test_it_reports_readiness_the_watchdog_and_the_stop(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    with service_words() as words:
        told = {"NOTIFY_SOCKET": words.address, "WATCHDOG_USEC": "300000"}
        process = subprocess.Popen(daemon.argv, env=daemon.environment | told)
        try:
            words.until("READY=1")
            words.until("WATCHDOG=1")
            words.until("WATCHDOG=1")  # and again
            process.send_signal(signal.SIGTERM)
            words.until("STOPPING=1")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()


def test_a_watchdog_that_is_meant_for_another_process_is_not_fed(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    with service_words() as words:
        told = {"NOTIFY_SOCKET": words.address, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
        process = subprocess.Popen(daemon.argv, env=daemon.environment | told)
        try:
            words.until("READY=1")
            process.send_signal(signal.SIGTERM)
            assert "WATCHDOG=1" not in words.until("STOPPING=1")
        finally:
            process.kill()
            process.wait()


def test_a_manager_that_does_not_listen_harms_nobody(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    told = {"NOTIFY_SOCKET": str(tmp_path / "nobody"), "WATCHDOG_USEC": "1000"}
    process = subprocess.Popen(daemon.argv, env=daemon.environment | told, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if '"serving"' in line:
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
