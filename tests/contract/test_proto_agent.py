"""agent.proto says what was published, number by number."""

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto

from betcode.v1 import agent_pb2
from support.published.descriptors import fields_of, line_of, lines, values_of

FILE = agent_pb2.DESCRIPTOR


def message(name: str) -> Descriptor:
    found = FILE.message_types_by_name[name]
    assert isinstance(found, Descriptor)
    return found


PUBLISHED = [
    pytest.param(
        "StartConversation",
        """
        string session_id = 1
        string working_directory = 2
        string model = 3
        repeated string allowed_tools = 4
        bool plan_mode = 5
        string worktree_id = 6
        map<string, string> metadata = 7
        """,
        marks=pytest.mark.behaviour("contract.agent.start-conversation"),
    ),
    pytest.param(
        "UserMessage",
        """
        string content = 1
        repeated Attachment attachments = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.user-message"),
    ),
    pytest.param(
        "Attachment",
        """
        string filename = 1
        string mime_type = 2
        bytes data = 3
        """,
        marks=pytest.mark.behaviour("contract.agent.user-message"),
    ),
    pytest.param(
        "PermissionResponse",
        """
        string request_id = 1
        PermissionDecision decision = 2
        string idempotency_key = 3
        string message = 4
        Struct updated_input = 5
        """,
        marks=pytest.mark.behaviour("contract.agent.permission-response"),
    ),
    pytest.param(
        "UserQuestionResponse",
        """
        string question_id = 1
        map<string, string> answers = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.question-response"),
    ),
    pytest.param("CancelRequest", "string reason = 1", marks=pytest.mark.behaviour("contract.agent.question-response")),
    pytest.param(
        "TextDelta",
        """
        string text = 1
        bool is_complete = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.text-and-tools"),
    ),
    pytest.param(
        "ToolCallStart",
        """
        string tool_id = 1
        string tool_name = 2
        Struct input = 3
        string description = 4
        string input_json = 30
        """,
        marks=pytest.mark.behaviour("contract.agent.text-and-tools"),
    ),
    pytest.param(
        "ToolCallResult",
        """
        string tool_id = 1
        string output = 2
        bool is_error = 3
        uint32 duration_ms = 4
        """,
        marks=pytest.mark.behaviour("contract.agent.text-and-tools"),
    ),
    pytest.param(
        "PermissionRequest",
        """
        string request_id = 1
        string tool_name = 2
        string description = 3
        Struct input = 4
        bool is_replay = 5
        Timestamp expires_at = 6
        repeated PermissionSuggestion suggestions = 7
        string tool_use_id = 8
        string deciding_rule = 9
        string input_json = 30
        """,
        marks=pytest.mark.behaviour("contract.agent.permission-request"),
    ),
    pytest.param(
        "UserQuestion",
        """
        string question_id = 1
        string question = 2
        repeated QuestionOption options = 3
        bool multi_select = 4
        string header = 5
        string group_id = 6
        """,
        marks=pytest.mark.behaviour("contract.agent.user-question"),
    ),
    pytest.param(
        "QuestionOption",
        """
        string value = 1
        string label = 2
        string description = 3
        """,
        marks=pytest.mark.behaviour("contract.agent.user-question"),
    ),
    pytest.param("TodoUpdate", "repeated TodoItem items = 1", marks=pytest.mark.behaviour("contract.agent.todo")),
    pytest.param(
        "TodoItem",
        """
        string id = 1
        string subject = 2
        string description = 3
        string active_form = 4
        TodoStatus status = 5
        """,
        marks=pytest.mark.behaviour("contract.agent.todo"),
    ),
    pytest.param(
        "StatusChange",
        """
        AgentStatus status = 1
        string message = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.status"),
    ),
    pytest.param(
        "SessionInfo",
        """
        string session_id = 1
        string model = 2
        string working_directory = 3
        string worktree_id = 4
        uint64 message_count = 5
        bool is_resumed = 6
        bool is_compacted = 7
        float context_usage_percent = 8
        """,
        marks=pytest.mark.behaviour("contract.agent.session-info"),
    ),
    pytest.param(
        "ErrorEvent",
        """
        string code = 1
        string message = 2
        bool is_fatal = 3
        map<string, string> details = 4
        """,
        marks=pytest.mark.behaviour("contract.agent.error-event"),
    ),
    pytest.param(
        "UsageReport",
        """
        uint32 input_tokens = 1
        uint32 output_tokens = 2
        uint32 cache_read_tokens = 3
        uint32 cache_creation_tokens = 4
        string model = 5
        double cost_usd = 6
        uint32 duration_ms = 7
        """,
        marks=pytest.mark.behaviour("contract.agent.usage-plan-complete"),
    ),
    pytest.param(
        "PlanModeChange",
        """
        bool active = 1
        string plan = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.usage-plan-complete"),
    ),
    pytest.param(
        "TurnComplete", "string stop_reason = 1", marks=pytest.mark.behaviour("contract.agent.usage-plan-complete")
    ),
]


@pytest.mark.parametrize(("name", "table"), PUBLISHED)
def test_a_message_has_its_published_fields(name: str, table: str) -> None:
    published = lines(table)
    missing = published - fields_of(message(name))
    assert not missing


# What this project put beside the published fields; a number here is given out for good as well.
ADDED = [
    ("StartConversation", "uint64 from_sequence = 8"),
    ("UserMessage", "string idempotency_key = 4"),
    ("CancelRequest", "bool cancel_queued = 2"),
    ("CancelTurnRequest", "bool cancel_queued = 2"),
    ("CancelTurnResponse", "repeated string withdrawn_message_ids = 2"),
    ("TextDelta", "bool is_partial = 5"),
    ("ThinkingDelta", "bool is_partial = 5"),
    ("UserInput", "string content = 1"),
    ("UserInput", "string message_id = 2"),
    ("UserInput", "string client_id = 3"),
    ("SessionGrantEntry", "string pattern = 3"),
    ("SetSessionGrantRequest", "string pattern = 4"),
    ("AgentEventBatch", "repeated AgentEvent events = 1"),
    ("MessageStateChange", "string message_id = 1"),
    ("MessageStateChange", "MessageState state = 2"),
    ("MessageStateChange", "string reason = 3"),
]


@pytest.mark.parametrize(("name", "line"), ADDED)
def test_an_added_field_has_its_number(name: str, line: str) -> None:
    assert line in fields_of(message(name))


def test_an_absent_from_sequence_differs_from_zero() -> None:
    start = message("StartConversation").fields_by_name["from_sequence"]
    assert start.has_presence


@pytest.mark.behaviour("contract.agent.request")
def test_a_request_is_one_of_five_kinds() -> None:
    request = message("AgentRequest")
    assert fields_of(request) == lines(
        """
        StartConversation start = 1
        UserMessage message = 2
        PermissionResponse permission = 3
        UserQuestionResponse question_response = 4
        CancelRequest cancel = 5
        """
    )
    assert {field.name for field in request.oneofs_by_name["request"].fields} == {
        field.name for field in request.fields
    }


@pytest.mark.behaviour("contract.agent.event")
def test_an_event_has_its_head_and_the_published_kinds() -> None:
    event = message("AgentEvent")
    head = """
        uint64 sequence = 1
        Timestamp timestamp = 2
        string parent_tool_use_id = 3
        """
    kinds = """
        TextDelta text_delta = 10
        ToolCallStart tool_call_start = 11
        ToolCallResult tool_call_result = 12
        PermissionRequest permission_request = 13
        UserQuestion user_question = 14
        TodoUpdate todo_update = 15
        StatusChange status_change = 16
        SessionInfo session_info = 17
        ErrorEvent error = 18
        UsageReport usage = 19
        PlanModeChange plan_mode = 20
        TurnComplete turn_complete = 21
        """
    assert lines(head) | lines(kinds) <= fields_of(event)
    in_oneof = {line_of(field) for field in event.oneofs_by_name["event"].fields}
    assert lines(kinds) <= in_oneof


@pytest.mark.behaviour("contract.agent.event-additions")
def test_added_event_kinds_are_22_and_from_30_on() -> None:
    event = message("AgentEvent")
    added = {f.number: f.name for f in event.oneofs_by_name["event"].fields if f.number > 21}
    expected = {
        22: "user_input",
        30: "deprecation",
        31: "thinking_delta",
        32: "message_state",
        33: "permission_resolved",
        34: "input_lock",
        35: "presence",
        36: "gap",
        37: "compaction",
        38: "notice",
    }
    assert expected.items() <= added.items()
    assert all(number >= 30 for number in added.keys() - {22})
    spelled = DescriptorProto()
    event.CopyToProto(spelled)
    assert [(span.start, span.end) for span in spelled.reserved_range] == [(23, 24)]


ENUMS = [
    pytest.param(
        "PermissionDecision",
        """
        PERMISSION_DECISION_UNSPECIFIED = 0
        ALLOW_ONCE = 1
        ALLOW_SESSION = 2
        DENY = 3
        ALLOW_WITH_EDIT = 4
        DENY_NO_INTERRUPT = 5
        DENY_WITH_INTERRUPT = 6
        """,
        marks=pytest.mark.behaviour("contract.agent.permission-decision"),
    ),
    pytest.param(
        "TodoStatus",
        """
        TODO_STATUS_UNSPECIFIED = 0
        PENDING = 1
        IN_PROGRESS = 2
        COMPLETED = 3
        """,
        marks=pytest.mark.behaviour("contract.agent.todo"),
    ),
    pytest.param(
        "AgentStatus",
        """
        AGENT_STATUS_UNSPECIFIED = 0
        THINKING = 1
        EXECUTING_TOOL = 2
        WAITING_FOR_USER = 3
        IDLE = 4
        COMPACTING = 5
        ERROR = 6
        """,
        marks=pytest.mark.behaviour("contract.agent.status"),
    ),
    pytest.param(
        "MessageState",
        """
        MESSAGE_STATE_UNSPECIFIED = 0
        MESSAGE_STATE_ACCEPTED = 1
        MESSAGE_STATE_DELIVERED = 2
        MESSAGE_STATE_CONSUMED = 3
        MESSAGE_STATE_CANCELLED = 4
        MESSAGE_STATE_UNKNOWN = 5
        """,
    ),
]


@pytest.mark.parametrize(("name", "table"), ENUMS)
def test_an_enum_has_its_values(name: str, table: str) -> None:
    assert values_of(FILE.enum_types_by_name[name]) == lines(table)
