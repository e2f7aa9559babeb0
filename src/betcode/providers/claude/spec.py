"""The spec of Claude Code."""

from betcode.domain.agents.provider_spec import ApiKey, Compatibility, ProviderSpec, VersionRange, VersionSupport

_STALE_RULES = "rules that change while an agent runs apply only to the next agent"
_UNNAMED_DENIALS = "a denial by a rule is not always distinguished from other errors (denied_by, exit code 3)"

SPEC = ProviderSpec(
    name="claude",
    title="Claude Code",
    package=__package__,
    obey_name="claude-code",
    obey_number=1,
    executable="claude",
    executable_variable="BETCODE_CLAUDE_BIN",
    shared_environment=(
        "ANTHROPIC_*", "CLAUDE_*", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "IS_SANDBOX",
        # models behind Bedrock
        "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
        # models behind Vertex
        "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_REGION_*",
        "GCLOUD_PROJECT",
    ),
    inner_environment=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"),
    api_key=ApiKey("anthropic", "ANTHROPIC_API_KEY"),
    versions=VersionSupport(
        (
            # Measured with the live tests of rules: see docs/decisions/0042.
            VersionRange("2.1.219", Compatibility.DEGRADED, f"{_STALE_RULES}, and {_UNNAMED_DENIALS}"),
            VersionRange("2.1.243", Compatibility.DEGRADED, _UNNAMED_DENIALS),
            VersionRange("2.1.307", Compatibility.LIKELY),
            VersionRange("2.1.325", Compatibility.FULL),  # the one that all live tests run with
            VersionRange("2.1.326", Compatibility.LIKELY),
            VersionRange("3", Compatibility.UNKNOWN),
        ),
        "https://code.claude.com/docs/en/setup",
        # It is launched with --forward-subagent-text, which earlier versions reject or support in part.
        minimum="2.1.219",
        api_version="anthropic-2023-06-01",  # the header anthropic-version of its requests
    ),
    is_playable=True,
)  # fmt: skip
