"""What a session's agent cannot do: refused with a sentence before anything is done, or said where it goes on without.

Every question here is put to the table of the session, never to the name of its provider.
"""

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import AgentCannot
from betcode.domain.sessions.budget import Budget
from betcode.domain.store.rows import NewSession
from betcode.engine.core.decision_types import Decision


def check_new(new: NewSession, can: Capabilities) -> None:
    """Raises AgentCannot where a new session asks for what its agent cannot be told."""
    if new.plan_mode and not can.plan_mode:
        raise AgentCannot(new.provider, "plan_mode", "has no plan mode: begin without it")
    if new.model and not can.model:
        raise AgentCannot(new.provider, "model", "cannot be told which model to use: leave it out, and set it there")


def check_files(message: SendMessage, provider: str, can: Capabilities) -> None:
    """Raises AgentCannot where a message brings files along that nobody would read."""
    if message.attachments and not can.attachments:
        raise AgentCannot(provider, "attachments", "takes no files with a message: name their paths in its text")


def check_answer(decision: Decision, request_id: str, provider: str, can: Capabilities) -> None:
    """Raises AgentCannot where what a person wrote would not be what runs; the prompt stays open."""
    if decision.updated_input and not can.edited_input:
        raise AgentCannot(
            provider,
            "edited_input",
            "runs what it asked for and nothing else: allow it as it is, or deny it",
            request_id,
        )


def denial_reason_notice(decision: Decision, provider: str, can: Capabilities) -> str:
    """What is said of a denial whose reason the agent is not told; empty where it is, or nobody gave one."""
    if decision.allows or decision.by_policy or not decision.message or can.denial_message:
        return ""
    return f"It was denied, and without the reason: agents of the kind {provider} take none. Tell it in a message"


def unmeasured_limits_notice(budget: Budget, provider: str, can: Capabilities) -> str:
    """Which limits nothing will ever be counted against; empty: none."""
    limits = budget.limits
    blind = [
        name
        for name, is_set, is_told in (("cost", limits.cost_usd, can.cost), ("tokens", limits.tokens, can.usage))
        if is_set and not is_told
    ]
    if not blind:
        return ""
    names = " and ".join(blind)
    return f"The limit on {names} holds nothing back: agents of the kind {provider} do not tell it. Limit turns or time"


def rule_reach_notice(provider: str, can: Capabilities) -> str:
    """How far rules that deny or ask hold with an agent that does not let every use of a tool be seen."""
    if not can.permissions:
        return f"Rules that deny or ask do not hold here: agents of the kind {provider} ask nobody before they act"
    what = "shell commands alone" if can.commands_only else "what they choose"
    return f"Rules that deny or ask hold for what is asked about alone: agents of the kind {provider} ask about {what}"
