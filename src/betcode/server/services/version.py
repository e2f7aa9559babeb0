"""VersionService: the version and the capabilities of this daemon."""

from collections.abc import Awaitable, Callable

from betcode.domain.release.client_capabilities import validate_client_capabilities
from betcode.domain.release.compatibility import AGENTS, API_VERSION, CLIENTS, client_refusal, client_warnings
from betcode.domain.release.deprecations import warning
from betcode.domain.release.features import flag_message
from betcode.engine import AgentReport
from betcode.providers.specs import DEFAULT
from betcode.server.release import Release
from betcode.server.rpc import Caller
from betcode.v1 import version_pb2 as v1

_TYPE_LIMIT = 128
_FEATURES_LIMIT = 200  # of one request

AskReported = Callable[[], Awaitable[AgentReport]]


class VersionCalls:
    def __init__(self, release: Release, reported: AskReported, max_message_bytes: int) -> None:
        self._release = release
        self._reported = reported
        self._max_message_bytes = max_message_bytes

    async def get_version(self, _: Caller, __: v1.GetVersionRequest) -> v1.GetVersionResponse:
        features, agent = self._release.features, AGENTS[DEFAULT.name]
        version = await self._release.agent_version()
        records = features.deprecations.values()
        return v1.GetVersionResponse(
            api_version=API_VERSION,
            server_version=features.running,
            features=features.on,
            claude_code=v1.ClaudeCodeInfo(
                version=version,
                api_version=agent.api_version_of(version),
                compatibility=agent.level(version),
                minimum_version=agent.minimum,
                upgrade_url=agent.upgrade_url,
            ),
            constraints=v1.VersionConstraints(
                min_client_version=CLIENTS.minimum,
                recommended_client=CLIENTS.recommended,
                deprecated_features=[each.feature for each in records],
                feature_replacements={each.feature: each.replacement for each in records},
            ),
            feature_flags=[flag_message(each, is_on=features.is_on(each.name)) for each in features.table.values()],
            deprecations=[warning(each, features.running) for each in records],
        )

    async def negotiate_capabilities(self, caller: Caller, request: v1.NegotiateRequest) -> v1.NegotiateResponse:
        """Return whether the client is accepted, with which features, and the notices for it."""
        features, agent = self._release.features, AGENTS[DEFAULT.name]
        client = request.client_version
        of_client = validate_client_capabilities(request.client_capabilities)
        if refusal := client_refusal(client):
            return v1.NegotiateResponse(rejection_reason=refusal, upgrade_url=CLIENTS.upgrade_url)
        self._release.introductions.note(caller.client.client_id, request.client_type[:_TYPE_LIMIT])
        granted, warnings = features.granted(request.requested_features[:_FEATURES_LIMIT], client)
        response = v1.NegotiateResponse(
            accepted=True,
            granted_features=granted,
            warnings=[*client_warnings(client), *of_client, *warnings],
            capabilities=await self._capabilities(),
        )
        agent_version = await self._release.agent_version()
        if limits := agent.warning(agent_version):
            response.warnings.append(limits)
        if refusal := agent.refusal(agent_version):
            response.accepted = False
            response.rejection_reason = refusal
            response.upgrade_url = agent.upgrade_url
        return response

    async def _capabilities(self) -> v1.CapabilitySet:
        features = self._release.features
        reported = await self._reported()
        return v1.CapabilitySet(
            streaming_supported=True,
            compression_supported=True,  # requests may be compressed, as gRPC offers it
            max_message_size=self._max_message_bytes,
            available_tools=reported.tools,
            available_models=reported.models,
            subagents_enabled=features.is_on("subagent_orchestration"),
            worktrees_enabled=features.is_on("worktree_management"),
            feature_flags={name: features.is_on(name) for name in features.table},
        )
