"""PolicyService: convert, call, convert back."""

from contextlib import aclosing

from betcode.domain.errors import InvalidRequest
from betcode.domain.values.text import shortened
from betcode.engine import Engine
from betcode.engine.permissions.policy_dry_run import ChangedUse, DryRunResult
from betcode.engine.permissions.project_guard import shown_items
from betcode.rules import Rule, ScreenOutcome
from betcode.server.auth.gate import Gate
from betcode.server.rpc import Caller, Context
from betcode.v1 import policy_pb2 as v1

_OUTCOMES = {
    ScreenOutcome.ALLOW: v1.POLICY_OUTCOME_ALLOW,
    ScreenOutcome.ASK: v1.POLICY_OUTCOME_ASK,
    ScreenOutcome.DENY: v1.POLICY_OUTCOME_DENY,
}
_INPUT_CHARACTERS = 4_000  # of a reported use
_SHOWN = 100  # rules, segments and problems of one answer


class PolicyCalls:
    """The calls about rules and trusted projects."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate

    async def check_policy(self, _: Caller, request: v1.CheckPolicyRequest) -> v1.CheckPolicyResponse:
        if request.session_id and request.working_directory:
            raise InvalidRequest("Give either a session or a directory, not both")
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        checked = await self._engine.policy.check(
            request.tool_name, request.input_json, directory=request.working_directory, session=session
        )
        return v1.CheckPolicyResponse(
            outcome=_OUTCOMES[checked.verdict.outcome],
            reason=checked.verdict.reason,
            rules=[shown(rule) for rule in dict.fromkeys(checked.verdict.rules[:_SHOWN])],
            segments=checked.segments[:_SHOWN],
            problems=[str(problem) for problem in checked.lists.problems[:_SHOWN]],
            untrusted=[shown(rule) for rule in checked.lists.untrusted[:_SHOWN]],
            working_directory=checked.directory,
        )

    async def try_policy(self, _: Caller, request: v1.TryPolicyRequest, context: Context) -> None:
        """Send the progress, then the changes (the most frequent first), and the totals."""
        since_ns = request.since.ToNanoseconds() if request.HasField("since") else 0
        tried = DryRunResult()
        async with aclosing(self._engine.policy.try_rules(request.settings_text, request.path, since_ns)) as steps:
            async for tried in steps:
                progress = v1.TryPolicyProgress(sessions=tried.sessions, uses=tried.uses)
                await context.write(v1.TryPolicyUpdate(progress=progress).SerializeToString())
        for one in sorted(tried.changed.values(), key=lambda one: (-one.count, -one.last_ns)):
            await context.write(v1.TryPolicyUpdate(changed=_changed(one)).SerializeToString())
        summary = v1.TryPolicySummary(
            uses=tried.uses,
            sessions=tried.sessions,
            unknown=tried.unknown,
            problems=tried.problems[:_SHOWN],
            changed_not_shown=tried.changed_not_kept,
        )
        for (before, after), uses in sorted(tried.counts.items()):
            summary.counts.add(before=_OUTCOMES[before], after=_OUTCOMES[after], uses=uses)
        await context.write(v1.TryPolicyUpdate(summary=summary).SerializeToString())

    async def inspect_project(self, _: Caller, request: v1.InspectProjectRequest) -> v1.InspectProjectResponse:
        if bool(request.session_id) == bool(request.directory):
            raise InvalidRequest("Name a session or a directory")
        session = await self._engine.resolve(request.session_id) if request.session_id else None
        found = await self._engine.policy.inspect(request.directory, session=session)
        response = v1.InspectProjectResponse(
            project=found.project, trusted=found.inspected.is_trusted, declined=found.is_declined
        )
        unavoidable = {item.path for item in found.unavoidable}
        for item in shown_items(found.inspected.items):
            response.items.add(
                program=item.program.value,
                path=item.path,
                brings=item.brings,
                prevents_start=item.path in unavoidable,
                details=item.details,
                detail_count=item.detail_count,
            )
        return response

    async def trust_project(self, caller: Caller, request: v1.TrustProjectRequest) -> v1.TrustProjectResponse:
        """For people: a project that an agent works in does not trust itself."""
        client = await self._gate.admit(caller)
        policy = self._engine.policy
        project = await policy.project_of(request.directory, trusted=request.trusted)
        if request.declined:
            if request.trusted:
                raise InvalidRequest("A project is trusted or declined, not both")
            await policy.decline(project, request.directory, client=client.client_id)
            return v1.TrustProjectResponse(project=project)
        changed = await policy.trust(project, trusted=request.trusted, client=client.client_id, peer=client.peer)
        return v1.TrustProjectResponse(changed=changed, project=project)

    async def list_trusted(self, _: Caller, __: v1.ListTrustedRequest) -> v1.ListTrustedResponse:
        response = v1.ListTrustedResponse()
        for project in await self._engine.policy.trusted():
            view = response.projects.add(directory=project.directory, trusted_by=project.by)
            view.since.FromNanoseconds(project.since_ns)
        return response


def _changed(one: ChangedUse) -> v1.ChangedUse:
    view = v1.ChangedUse(
        tool_name=one.tool_name,
        input_json=shortened(one.input_json, _INPUT_CHARACTERS),
        working_directory=one.directory,
        count=one.count,
        session_id=one.session,
        before=_OUTCOMES[one.before.outcome],
        after=_OUTCOMES[one.after.outcome],
        reason_after=shortened(one.after.reason, _INPUT_CHARACTERS),
    )
    view.last_at.FromNanoseconds(one.last_ns)
    if one.before.rule is not None:
        view.rule_before.CopyFrom(shown(one.before.rule))
    if one.after.rule is not None:
        view.rule_after.CopyFrom(shown(one.after.rule))
    return view


def shown(rule: Rule) -> v1.PolicyRule:
    """Return a rule and its source."""
    source = rule.source
    return v1.PolicyRule(
        action=rule.action.value, text=rule.text, layer=source.layer.value, path=source.path, line=source.line
    )
