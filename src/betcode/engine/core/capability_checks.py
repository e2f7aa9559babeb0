"""Checks against the capabilities of a session's agent: reject unsupported requests, or return a notice about them.

All checks use the capability table of the session, never the name of its provider.
"""

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import AgentCannot
from betcode.domain.sessions.budget import Budget
from betcode.domain.store.rows import NewSession
from betcode.engine.core.prompt_decision import PromptDecision


def check_new(new: NewSession, can: Capabilities) -> None:
    """Raises AgentCannot if a new session requests an option that its agent does not support."""
    if new.plan_mode and not can.plan_mode:
        raise AgentCannot(new.provider, "plan_mode", "has no plan mode: start the session without it")
    if new.model and not can.model:
        raise AgentCannot(
            new.provider,
            "model",
            "does not accept a model from betcode: omit it, and set the model in the agent's own configuration",
        )


def check_files(message: SendMessage, provider: str, can: Capabilities) -> None:
    """Raises AgentCannot if a message has attachments and the agent does not accept any."""
    if message.attachments and not can.attachments:
        raise AgentCannot(
            provider, "attachments", "does not accept attachments: write the paths of the files in the message"
        )


def check_answer(decision: PromptDecision, request_id: str, provider: str, can: Capabilities) -> None:
    """Raises AgentCannot if the agent would ignore the edited input; the prompt stays open."""
    if decision.updated_input and not can.edited_input:
        raise AgentCannot(
            provider,
            "edited_input",
            "does not accept edited input: allow the call as it is, or deny it",
            request_id,
        )


def denial_reason_notice(decision: PromptDecision, provider: str, can: Capabilities) -> str:
    """Return a notice if the agent will not receive the reason of a denial, otherwise an empty string."""
    if decision.allows or decision.by_policy or not decision.message or can.denial_message:
        return ""
    return f"Denied. {provider} does not accept a reason with a denial: send the reason as a message"


def unmeasured_limits_notice(budget: Budget, provider: str, can: Capabilities) -> str:
    """Return a notice about limits that the agent does not report usage for, otherwise an empty string."""
    limits = budget.limits
    blind = [
        name
        for name, is_set, is_told in (("cost", limits.cost_usd, can.cost), ("tokens", limits.tokens, can.usage))
        if is_set and not is_told
    ]
    if not blind:
        return ""
    names = " and ".join(blind)
    return f"The {names} limit has no effect: {provider} does not report it. Limit turns or time instead"


def rule_reach_notice(provider: str, can: Capabilities) -> str:
    """Return a notice about which tool calls deny and ask rules apply to for this agent."""
    if not can.permissions:
        return f"Deny and ask rules do not apply: {provider} does not submit tool calls for approval"
    which = "submits only shell commands" if can.commands_only else "decides itself which calls to submit"
    return f"Deny and ask rules only apply to calls that the agent submits for approval; {provider} {which}"
