"""The spec of the provider for OpenAI-compatible APIs, and its settings."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from betcode.domain.agents.provider_spec import ApiKey, ProviderSetting, ProviderSpec, ValueKind

WIRE_APIS = ("auto", "responses", "chat")
LEAST_CONTEXT_TOKENS = 1024


class OpenAiSettings(NamedTuple):
    base_url: str = ""  # of the API, with its version; empty: that of OpenAI
    api_key_env: str = "OPENAI_API_KEY"  # the variable of a session's environment that has the key
    wire_api: Literal["auto", "responses", "chat"] = "auto"
    model: str = ""  # of sessions that name none
    context_tokens: int = 128_000  # the model's context window


def _key_variables(settings: OpenAiSettings, config: Mapping[str, str], _: Mapping[str, str]) -> tuple[str, ...]:
    return (config.get("api_key_env") or settings.api_key_env,)


SPEC = ProviderSpec(
    name="openai",
    title="OpenAI-compatible API",
    package=__package__,
    obey_name="openai-api",
    obey_number=4,
    environment=("OPENAI_*",),
    key_variables=_key_variables,
    api_key=ApiKey("openai", "OPENAI_API_KEY"),
    keys={
        "base_url": "URL of the API, with its version, such as http://localhost:11434/v1",
        "api_key_env": "the variable of the session's environment that has the API key",
        "wire_api": "responses or chat; auto: Responses for OpenAI itself, Chat Completions for other servers",
        "context_tokens": "size of the model's context window, in tokens",
    },
    settings=(
        ProviderSetting(
            "base_url",
            ValueKind.ADDRESS,
            "URL of the OpenAI-compatible API of `openai` sessions; empty: OpenAI's own",
            choices=("http", "https"),
        ),
        ProviderSetting(
            "api_key_env",
            ValueKind.VARIABLE,
            "the variable of a session's environment that has the key of that API; empty: it needs none",
        ),
        ProviderSetting(
            "wire_api",
            ValueKind.CHOICE,
            "the protocol of that API; `auto`: Responses if `base_url` is empty, otherwise Chat Completions",
            choices=WIRE_APIS,
        ),
        ProviderSetting(
            "model",
            ValueKind.TEXT,
            "the model of `openai` sessions that name none, if `sessions.default_model` names none either",
        ),
        ProviderSetting(
            "context_tokens", ValueKind.NUMBER, "size of that model's context window", least=LEAST_CONTEXT_TOKENS
        ),
    ),
    defaults=OpenAiSettings(),
    extra_modules=("openai",),
)
