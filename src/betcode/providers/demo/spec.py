"""The spec of the built-in demo agent."""

from betcode.domain.agents.provider_spec import ProviderSpec

SPEC = ProviderSpec(
    name="demo",
    title="betcode demo",
    package=__package__,
    obey_name="demo",
    obey_number=6,
    environment=("BETCODE_DEMO_*",),  # which recording it plays, and how fast
    is_playable=True,
)
