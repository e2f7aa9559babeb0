"""The capabilities of a session's agent."""

from dataclasses import dataclass

from betcode.domain.agents.project_files import Program


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The features of a kind of agent; the engine uses this table and never the name."""

    resume: bool
    continues_broken_turn: bool
    interrupt: bool
    permissions: bool
    deltas: bool
    recognises_repeats: bool
    screens_calls: bool = False  # can be made to ask about every use of a tool
    fork: bool = False  # at any turn since the conversation was last compacted
    compaction: bool = False
    withdraw: bool = False  # a message that it has queued can be withdrawn
    queues_messages: bool = True  # accepts messages during a turn; otherwise they wait here, and are sent one at a time
    commands_only: bool = False  # of permissions: asks only about shell commands
    questions: bool = False  # asks people questions, apart from permissions
    attachments: bool = False  # takes files with a message
    edited_input: bool = False  # takes a use of a tool that a person changed before allowing it
    denial_message: bool = False  # receives the reason of a denial
    goes_on_after_denial: bool = True  # otherwise a denial ends the turn
    ends_tools: bool = True  # an interrupt ends the commands that run, too
    plan_mode: bool = False
    model: bool = True  # the model can be chosen
    usage: bool = False  # reports the tokens of a turn
    cost: bool = False  # and what that cost
    project_files: frozenset[Program] = frozenset()  # whose project files it reads and obeys
    ignores_project_files: bool = False  # can be started without them
