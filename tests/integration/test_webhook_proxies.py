"""A webhook goes through the proxy of the daemon's environment, with a real proxy and a real server."""

import logging
from pathlib import Path

import pytest

from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.notify.programs import NotSent
from betcode.notify.webhook import post
from support.apis.http_proxy import http_proxy
from support.apis.webhook_server import hook_server

pytestmark = pytest.mark.anyio

ASK = Notification("n-1", NotificationReason.ASK, "r-1", "s-1", "api", "/work", "Bash", "a mark", 10**18, 2 * 10**18)
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key").write_text("a-key-that-nobody-else-has\n")
    return str(tmp_path / "key")


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with http_proxy() as proxy, hook_server() as hook:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await post(ASK, f"{hook.url}/hook?to=me", key)
    assert proxy.lines == [f"POST {hook.url}/hook?to=me"]
    [posted] = hook.posted
    assert (posted.path, posted.body) == ("/hook?to=me", ASK.as_json())
    assert posted.headers["X-Betcode-Delivery"] == "n-1"


async def test_a_host_of_no_proxy_is_reached_directly(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with http_proxy() as proxy, hook_server() as hook:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "example.com,127.0.0.1")
        await post(ASK, hook.url, key)
    assert (proxy.lines, len(hook.posted)) == ([], 1)


async def test_a_proxy_sees_nothing_of_https_but_the_host(
    monkeypatch: pytest.MonkeyPatch, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("betcode.notify.webhook.ATTEMPTS", 1)
    caplog.set_level(logging.DEBUG)
    with http_proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(NotSent, match=r"hook\.example did not accept it after 1 attempts: OSError"):
            await post(ASK, "https://hook.example/s3cret", key)
    assert proxy.lines == ["CONNECT hook.example:443"]
    assert not any(name.startswith("X-Betcode") for headers in proxy.headers for name in headers)
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("setting", ["nonsense://proxy", "socks5://127.0.0.1:1"])
async def test_a_proxy_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, key: str, setting: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", setting)
    with pytest.raises(NotSent, match="proxy setting"):
        await post(ASK, "http://127.0.0.1:9/", key)
