"""CreateSession and RestartSession."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from betcode.campaigns import Campaign, Campaigns, SessionFacts, provider_keys, session_environment
from betcode.domain.agents.commands import SendMessage
from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.errors import AgentUnavailable, BetcodeError, InvalidRequest, UnknownProvider
from betcode.domain.obey.campaigns import is_name_of_a_part
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.budget import Amounts, OnReached, set_to
from betcode.domain.store.rows import NO_SEQ, NewSession
from betcode.domain.values.identifiers import SessionId, new_message_id, new_session_id, ulid_spelling
from betcode.engine import Engine, LifecycleStatus
from betcode.server.obey.errors import ObeyError, ObeyErrorCode
from betcode.server.obey.names import default_name, kind_of, provider_name, session_of
from betcode.server.obey.session_queries import SessionQueryCalls
from betcode.server.obey.times import span_ns
from betcode.server.registration import long_call
from betcode.server.rpc import Caller
from betcode.util.wall_clock import now_ns
from obey.local.v1 import local_pb2 as pb

_LONGEST_TIMEOUT_NS = 10 * 365 * 86400 * 10**9
_CONFIG_LIMIT_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class SessionEnvironment:
    """What a session takes from the daemon that creates it."""

    environ: Mapping[str, str]  # the daemon's own
    socket: str  # of this API
    start_timeout_s: float


class CreateSessionCalls:
    def __init__(
        self, engine: Engine, campaigns: Campaigns, reading: SessionQueryCalls, surroundings: SessionEnvironment
    ) -> None:
        self._engine = engine
        self._campaigns = campaigns
        self._reading = reading
        self._surroundings = surroundings

    @long_call
    async def create_session(self, caller: Caller, request: pb.CreateSessionRequest) -> pb.CreateSessionResponse:
        """Answers when the agent is ready, or has the first message."""
        campaign = await self._campaigns.find(request.campaign_id)
        kind = self._kind(request)
        await self._check_model(kind, request)
        new, name, binding = await self._checked(request, campaign, kind)
        session = await self._create(new, name, binding)
        try:
            await self._engine.lifecycle.begin(session, self._surroundings.start_timeout_s)
            if request.initial_message:
                message = SendMessage(new_message_id(), request.initial_message)
                await self._engine.submit(session, message, caller.client)
        except BetcodeError as trouble:
            raise ObeyError(
                ObeyErrorCode.CREATION_FAILED,
                f"The session could not be started: {trouble.message}",
                session_id=ulid_spelling(session),
            ) from trouble
        return pb.CreateSessionResponse(session=await self._reading.info(session))

    @long_call
    async def restart_session(self, caller: Caller, request: pb.RestartSessionRequest) -> pb.CreateSessionResponse:
        """Restart a session: a live one keeps its id, an ended one gets a new id."""
        session = session_of(request.session_id)
        standing = await self._engine.lifecycle.standing(session)
        config, timeout_s = dict(request.provider_config), self._surroundings.start_timeout_s
        _check_config(config)
        is_new = standing.phase.is_terminal
        if is_new:
            session = await self._recreate(standing, config)
        try:
            if is_new:
                await self._engine.lifecycle.begin(session, timeout_s)
            else:
                await self._engine.lifecycle.restart(session, config, timeout_s, caller.client.client_id)
        except InvalidRequest:
            raise
        except BetcodeError as trouble:
            has_failed = bool((await self._engine.lifecycle.standing(session)).bound.binding.failure)
            if not has_failed and (not isinstance(trouble, AgentUnavailable) or isinstance(trouble, UnknownProvider)):
                raise
            raise ObeyError(
                ObeyErrorCode.CREATION_FAILED,
                f"The session could not be started again: {trouble.message}",
                session_id=ulid_spelling(session),
            ) from trouble
        return pb.CreateSessionResponse(session=await self._reading.info(session))

    def _kind(self, request: pb.CreateSessionRequest) -> str:
        kind = kind_of(request.provider)
        if kind is None:
            what = "No provider is given" if not request.provider else f"There is no provider {request.provider}"
            raise ObeyError(ObeyErrorCode.PROVIDER_NOT_SUPPORTED, what)
        if kind not in self._engine.kinds.names:
            raise ObeyError(
                ObeyErrorCode.PROVIDER_NOT_SUPPORTED, f"This daemon has no {provider_name(request.provider)}"
            )
        return kind

    async def _check_model(self, kind: str, request: pb.CreateSessionRequest) -> None:
        if request.model:
            environment = {**await self._engine.login_environment(), **request.environment}
            if refusal := self._engine.kinds.model_refusal(kind, request.model, environment):
                raise ObeyError(ObeyErrorCode.MODEL_NOT_SUPPORTED, refusal)

    async def _checked(
        self, request: pb.CreateSessionRequest, campaign: Campaign, kind: str
    ) -> tuple[NewSession, str, SessionBinding]:
        if request.max_tokens < 0:
            raise InvalidRequest("max_tokens is negative: give the limit of the session, or 0 for no limit")
        _check_config(request.provider_config)
        timeout_ns = span_ns(request.timeout)
        if timeout_ns > _LONGEST_TIMEOUT_NS:
            raise InvalidRequest("The timeout is longer than ten years: give a shorter one, or 0 for none")
        _check_ids(festival_id=request.festival_id, task_id=request.task_id)
        if request.initial_message:
            self._engine.check_message(SendMessage(new_message_id(), request.initial_message))
        directory = await self._campaigns.directory(campaign, request.working_dir)
        session = new_session_id()
        name = request.agent_name or default_name(request.provider, session)
        called = provider_name(request.provider)
        facts = SessionFacts(ulid_spelling(session), campaign, called, name, self._surroundings.socket)
        new = NewSession(
            session_id=session,
            provider=kind,
            working_directory=str(directory),
            model=request.model,
            metadata={PREFIX + key: value for key, value in request.provider_config.items()},
            environment=await self._environment(request.environment, facts, kind),
            created_ns=now_ns(),
            budget=set_to(Amounts(tokens=request.max_tokens), OnReached.REFUSE),
        )
        binding = SessionBinding(
            campaign_id=campaign.id,
            festival_id=request.festival_id,
            task_id=request.task_id,
            timeout_ns=timeout_ns,
        )
        return new, name, binding

    async def _environment(self, asked: Mapping[str, str], facts: SessionFacts, kind: str) -> dict[str, str]:
        inherited = await self._engine.login_environment()
        keys = await anyio.to_thread.run_sync(partial(provider_keys, self._surroundings.environ, kind))
        return session_environment(inherited, dict(asked), facts, keys)

    async def _recreate(self, standing: LifecycleStatus, config: Mapping[str, str]) -> SessionId:
        """A new session like the one that has ended, which is its parent."""
        old, state, binding = standing.row.new, standing.row.state, standing.bound.binding
        if binding.campaign_id:
            await self._campaigns.find(binding.campaign_id)
        session = new_session_id()
        environment = None if old.environment is None else dict(old.environment)
        for name in ("OBEY_SESSION_ID", "OBEY_SESSION"):
            if environment is not None and name in environment:
                environment[name] = ulid_spelling(session)
        new = replace(
            old,
            session_id=session,
            metadata=self._engine.lifecycle.reconfigured(old.metadata, config),
            environment=environment,
            created_ns=now_ns(),
            budget=set_to(state.budget.step, state.budget.on_reached),
            forked_from="",
            forked_at=NO_SEQ,
            fork_point="",
        )
        again = SessionBinding(
            binding.campaign_id,
            binding.festival_id,
            binding.task_id,
            parent=ulid_spelling(old.session_id),
            restart_count=binding.restart_count + 1,
            timeout_ns=binding.timeout_ns,
        )
        return await self._create(new, state.name, again)

    async def _create(self, new: NewSession, name: str, binding: SessionBinding) -> SessionId:
        try:
            return await self._engine.create(new, name=name, binding=binding)
        except AgentUnavailable as missing:
            raise ObeyError(
                ObeyErrorCode.CREATION_FAILED, f"The session could not be created: {missing.message}", **missing.details
            ) from missing


def _check_config(config: Mapping[str, str]) -> None:
    size = sum(len(name.encode()) + len(value.encode()) for name, value in config.items())
    if size > _CONFIG_LIMIT_BYTES:
        raise InvalidRequest(f"The provider_config has {size} bytes: give at most {_CONFIG_LIMIT_BYTES}")


def _check_ids(**ids: str) -> None:
    for name, text in ids.items():
        if not is_name_of_a_part(text):
            raise InvalidRequest(f"The {name} is too long or has unprintable characters: give its id")
