"""The list of all providers. Every layer may import this module; it imports nothing of a provider but its spec."""

from collections.abc import Mapping

from betcode.domain.agents.provider_spec import ProviderSpec
from betcode.providers.acp import spec as acp
from betcode.providers.claude import spec as claude
from betcode.providers.codex import spec as codex
from betcode.providers.demo import spec as demo
from betcode.providers.openai import spec as openai
from betcode.providers.openclaw import spec as openclaw

# In the order of `betcode providers`.
SPECS: Mapping[str, ProviderSpec] = {
    spec.name: spec
    for spec in (claude.SPEC, demo.SPEC, codex.SPEC, openai.SPEC, *acp.SPECS, openclaw.SPEC)
}  # fmt: skip

DEFAULT = claude.SPEC  # of sessions that name no provider, if its program is installed
FALLBACK = demo.SPEC  # otherwise: it is part of betcode
