"""Build the row of a new prompt from the agent's request."""

from betcode.domain.store.rows import NO_SEQ, PromptKind, PromptRow, RunRow
from betcode.domain.values.identifiers import SessionKey
from betcode.v1 import agent_pb2 as v1


def permission_row(event: v1.AgentEvent, session: SessionKey, run: RunRow) -> PromptRow:
    request = event.permission_request
    return PromptRow(
        request_id=request.request_id,
        session=session,
        run=run.key,
        kind=PromptKind.PERMISSION,
        tool_name=request.tool_name,
        input_json=request.input_json,
        event=b"",
        seq=NO_SEQ,
        asked_ns=event.timestamp.ToNanoseconds(),
        description=request.description,
        tool_use_id=request.tool_use_id,
        agent_id=event.parent_tool_use_id,
    )


def question_row(questions: list[v1.AgentEvent], session: SessionKey, run: RunRow) -> PromptRow:
    first = questions[0]
    return PromptRow(
        request_id=first.user_question.group_id,
        session=session,
        run=run.key,
        kind=PromptKind.QUESTION,
        tool_name="AskUserQuestion",
        input_json=first.user_question.input_json,
        event=b"",
        seq=NO_SEQ,
        asked_ns=first.timestamp.ToNanoseconds(),
        agent_id=first.parent_tool_use_id,
    )
