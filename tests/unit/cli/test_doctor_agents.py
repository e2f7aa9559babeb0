"""The doctor checks only the default and the configured agents."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.cli.doctor.agents import agent
from betcode.cli.doctor.finding import Finding, Level, Situation
from betcode.config.load import load_settings
from betcode.config.paths import choose_paths


@pytest.fixture(autouse=True)
def no_agents_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")


def looked_at(root: Path, agents: object, **environ: str) -> list[Finding]:
    (root / "settings.json").write_text(json.dumps({"agents": agents}))
    settings = load_settings(root).settings
    claude = root / "claude"
    claude.write_text("#!/bin/sh\necho 2.1.325\n")
    claude.chmod(0o755)
    paths = choose_paths({}, state_dir=root, config_dir=root)
    situation = Situation(paths, settings, {"HOME": str(root), "PATH": "/nowhere"}, str(claude), now=0)
    return list(agent(replace(situation, environ={**situation.environ, "ANTHROPIC_API_KEY": "k", **environ})))


def test_an_unused_provider_is_not_reported(tmp_path: Path) -> None:
    assert [(one.check, one.level) for one in looked_at(tmp_path, {})] == [("agent", Level.OK), ("login", Level.OK)]


def test_the_default_kind_is_missed(tmp_path: Path) -> None:
    [found] = looked_at(tmp_path, {"default_provider": "codex"})
    assert (found.check, found.level, found.says) == ("agent codex", Level.TROUBLE, "Codex is not installed")
    assert found.mend.startswith("install it")


@pytest.mark.parametrize(
    ("agents", "check"),
    [
        ({"codex": {"path": "/nowhere/codex"}}, "agent codex"),
        ({"acp": {"commands": {"goose": ["/nowhere/goose", "acp"]}}}, "agent goose"),
        ({"openclaw": {"start": True}}, "agent openclaw"),
    ],
)
def test_a_kind_that_the_settings_speak_of_is_missed(tmp_path: Path, agents: object, check: str) -> None:
    found = {one.check: one for one in looked_at(tmp_path, agents)}
    assert set(found) == {"agent", "login", check}
    assert found[check].level is Level.TROUBLE
    assert found[check].mend


def test_an_installed_provider_is_shown_with_its_version(tmp_path: Path) -> None:
    codex = tmp_path / "codex"
    codex.write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    codex.chmod(0o755)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "k"}')
    found = {one.check: one for one in looked_at(tmp_path, {"codex": {"path": str(codex)}})}
    assert found["agent codex"].level is Level.OK
    assert found["agent codex"].says.startswith(f"{codex}, version 0.166.0")
