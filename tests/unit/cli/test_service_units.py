"""The files for service managers."""

import plistlib
import shlex
from pathlib import Path

import pytest

from betcode.cli.daemon.service_units import Service, is_for, launchd_agent, systemd_unit

SERVICE = Service(
    start=["/opt/my env/python", "-m", "betcode.daemon", "--state-dir", "/home/100%/$HOME"],
    probe=["/opt/my env/python", "-m", "betcode", "daemon", "health"],
    state_dir=Path("/home/100%/$HOME"),
    path='/usr/bin:/home/me/"odd"',
    log=Path("/home/me/daemon.log"),
)


@pytest.mark.behaviour("health.systemd")
def test_the_unit_waits_for_readiness_is_watched_and_probed() -> None:
    lines = systemd_unit(SERVICE).splitlines()
    assert {"Type=notify", "WatchdogSec=60", "KillMode=process", "RestartPreventExitStatus=5"} <= set(lines)
    assert any(line.startswith("ExecStartPost=") and line.endswith('"daemon" "health"') for line in lines)


def test_special_characters_of_systemd_are_escaped() -> None:
    lines = systemd_unit(SERVICE).splitlines()
    start = next(line for line in lines if line.startswith("ExecStart="))
    assert shlex.split(start.partition("=")[2])[-1] == "/home/100%%/$$HOME"
    assert shlex.split(start.partition("=")[2])[0] == "/opt/my env/python"
    path = next(line for line in lines if line.startswith("Environment="))
    assert path == 'Environment="PATH=/usr/bin:/home/me/\\"odd\\""'


def test_a_unit_knows_whose_it_is() -> None:
    assert is_for(systemd_unit(SERVICE), SERVICE.state_dir)
    assert not is_for(systemd_unit(SERVICE), Path("/home/100%"))
    assert not is_for("[Service]\n", SERVICE.state_dir)


def test_the_launchd_agent_is_started_again_unless_it_was_stopped_and_leaves_agents_alone() -> None:
    agent = plistlib.loads(launchd_agent(SERVICE, "dev.betcode.betcode"))
    assert agent["ProgramArguments"] == list(SERVICE.start)
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["AbandonProcessGroup"] is True
