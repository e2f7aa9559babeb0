"""A missing extra is reported where it is needed, with the command that installs it."""

import sys
import tomllib
from pathlib import Path

import pytest

from betcode.domain.errors import AgentUnavailable
from betcode.domain.metrics.counts import Counts
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.openai.provider import OpenAiProvider
from betcode.providers.openclaw.provider import OpenClawProvider
from betcode.telemetry.export import open_telemetry
from betcode.util.extras import EXTRAS, Extra, install_command, missing_extra

ROOT = Path(__file__).parents[3]
SESSION = NewSession(SessionId("s"), provider="p", working_directory="/", model="m", environment={})


def block(monkeypatch: pytest.MonkeyPatch, extra: Extra) -> None:
    for module in extra.modules:
        monkeypatch.setitem(sys.modules, module, None)


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])


@pytest.mark.parametrize("name", sorted(EXTRAS))
def test_an_extra_is_reported_when_one_of_its_packages_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_extra(EXTRAS[name]) == ""
    monkeypatch.setitem(sys.modules, EXTRAS[name].modules[-1], None)
    assert f"betcode[{name}]" in missing_extra(EXTRAS[name])


@pytest.mark.parametrize("provider", [OpenAiProvider(), OpenClawProvider()], ids=lambda one: str(one.name))
def test_a_provider_without_its_packages_names_the_command(
    provider: OpenAiProvider | OpenClawProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.check({})
    block(monkeypatch, EXTRAS[provider.name])
    with pytest.raises(AgentUnavailable, match=rf"install.*betcode\[{provider.name}\]"):
        provider.check({})
    with pytest.raises(AgentUnavailable, match=rf"betcode\[{provider.name}\]"):
        provider.check_session(SESSION)
    assert f"betcode[{provider.name}]" in provider.about({}).standing.missing


@pytest.mark.anyio
async def test_telemetry_without_its_packages_is_a_trouble_and_the_daemon_continues(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    block(monkeypatch, EXTRAS["otel"])
    async with open_telemetry(Counts(), "1", otlp_endpoint="http://127.0.0.1:9", metrics_at=("127.0.0.1", 0)) as sent:
        assert "betcode[otel]" in " ".join(sent.troubles)
        assert sent.traces is None
    assert "betcode[otel]" in caplog.text
    async with open_telemetry(Counts(), "1") as unwanted:
        assert unwanted.troubles == ()


def test_the_command_fits_the_way_in_which_betcode_was_installed(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    assert install_command("otel", tmp_path, "", has_pip=True) == f"{python} -m pip install 'betcode[otel]'"
    assert install_command("otel", tmp_path, "", has_pip=False) == f"uv pip install --python {python} 'betcode[otel]'"
    (tmp_path / "pipx_metadata.json").touch()
    assert install_command("otel", tmp_path, "", has_pip=True) == "pipx install --force 'betcode[otel]'"
    (tmp_path / "uv-receipt.toml").touch()
    wanted = "uv tool install --force 'betcode[otel] @ file:///w/b.whl'"
    assert install_command("otel", tmp_path, "file:///w/b.whl", has_pip=True) == wanted
