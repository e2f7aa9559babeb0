"""The table of agent capabilities, as text and as a message; one row per capability."""

from collections.abc import Iterator
from dataclasses import dataclass

from betcode.domain.agents.capabilities import Capabilities
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    name: str  # the field of both
    label: str
    meaning: str  # a description


ROWS: tuple[CapabilityRow, ...] = (
    CapabilityRow("resume", "resume", "another process can continue the conversation"),
    CapabilityRow(
        "continues_broken_turn", "broken turns", "a turn that a crash interrupted is continued automatically"
    ),
    CapabilityRow("interrupt", "interrupt", "a turn can be stopped without ending the agent"),
    CapabilityRow("ends_tools", "ends commands", "stopping a turn ends the commands that it runs"),
    CapabilityRow("permissions", "permissions", "it asks before it acts"),
    CapabilityRow("screens_calls", "screens every call", "it can be made to ask about every use of a tool"),
    CapabilityRow("edited_input", "edited input", "a person can edit a tool's input before allowing it"),
    CapabilityRow("denial_message", "reasons of denials", "it receives the reason of a denial"),
    CapabilityRow("goes_on_after_denial", "continues after a denial", "a denial leaves the turn open"),
    CapabilityRow("questions", "questions", "it asks people questions"),
    CapabilityRow("plan_mode", "plan mode", "it can be made to plan only"),
    CapabilityRow("deltas", "deltas", "text is shown as it is written"),
    CapabilityRow("attachments", "attachments", "messages may have attachments"),
    CapabilityRow(
        "queues_messages", "queues messages", "it accepts messages during a turn; otherwise they wait in the daemon"
    ),
    CapabilityRow("withdraw", "withdraw", "a message that it has queued can be withdrawn"),
    CapabilityRow("recognises_repeats", "recognises repeats", "a message that is sent again is answered once"),
    CapabilityRow("fork", "fork", "its conversation can be forked"),
    CapabilityRow("compaction", "compaction", "its context can be compacted"),
    CapabilityRow("model", "model", "the model can be chosen"),
    CapabilityRow("usage", "tokens", "it reports the tokens of a turn"),
    CapabilityRow("cost", "cost", "it reports the cost of a turn"),
)
_SCOPE = "permissions"  # the row that is more than yes or no


def capability_message(table: Capabilities) -> v1.ProviderCapabilities:
    """The same as clients see it."""
    plain = {row.name: bool(getattr(table, row.name)) for row in ROWS if row.name != _SCOPE}
    return v1.ProviderCapabilities(permissions=_scope(table), **plain)


def _scope(table: Capabilities) -> v1.PermissionScope.ValueType:
    if not table.permissions:
        return v1.PERMISSION_SCOPE_NONE
    return v1.PERMISSION_SCOPE_COMMANDS if table.commands_only else v1.PERMISSION_SCOPE_ALL


def answers(table: v1.ProviderCapabilities) -> Iterator[tuple[CapabilityRow, str]]:
    """Each row with "yes", "no" or how far it goes."""
    for row in ROWS:
        if row.name != _SCOPE:
            yield row, "yes" if getattr(table, row.name) else "no"
        elif table.permissions == v1.PERMISSION_SCOPE_COMMANDS:
            yield row, "commands only"
        else:
            yield row, "yes" if table.permissions == v1.PERMISSION_SCOPE_ALL else "no"
