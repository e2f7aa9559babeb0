"""The spec of the provider for OpenClaw gateways, and its settings."""

from typing import NamedTuple

from betcode.domain.agents.provider_spec import ApiKey, ProviderSetting, ProviderSpec, ValueKind, tested_with


class OpenClawSettings(NamedTuple):
    url: str = ""  # of a running gateway; empty: the one at `port` on this machine
    token_file: str = ""  # has the gateway's token; empty: that of the gateway we start
    program: str = ""  # empty: openclaw on the session's PATH
    port: int = 18790  # of the gateway on this machine; a user's own one listens at 18789
    start: bool = False  # start a gateway if none answers


SPEC = ProviderSpec(
    name="openclaw",
    title="OpenClaw",
    package=__package__,
    obey_name="openclaw",
    obey_number=2,
    executable="openclaw",
    environment=("OPENCLAW_*",),
    api_key=ApiKey("openclaw", "OPENCLAW_API_KEY"),
    keys={
        "url": "URL of a running gateway, such as ws://127.0.0.1:18789",
        "token_file": "the absolute path of the file with the gateway's token",
        "start": "true: start a gateway if none answers",
    },
    settings=(
        ProviderSetting(
            "url",
            ValueKind.ADDRESS,
            "URL of a running gateway; empty: the one at `agents.openclaw.port` on this machine",
            choices=("ws", "wss"),
        ),
        ProviderSetting(
            "token_file",
            ValueKind.FILE,
            "the file with the gateway's token; empty: the token of the gateway that betcode starts",
        ),
        ProviderSetting(
            "program",
            ValueKind.FILE,
            "path of openclaw, for a gateway that betcode starts; empty: found on the session's PATH",
        ),
        ProviderSetting("port", ValueKind.NUMBER, "port of the gateway on this machine", least=1, most=65535),
        ProviderSetting("start", ValueKind.SWITCH, "start a gateway if none answers; it serves all sessions"),
    ),
    defaults=OpenClawSettings(),
    extra_modules=("websockets",),
    versions=tested_with("2026.9.6", unknown_from="2027", upgrade_url="https://docs.openclaw.ai"),
)
