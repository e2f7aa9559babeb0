"""The obey face says what was published, number by number."""

import pytest

from obey.local.v1 import local_pb2
from support.published.descriptors import calls_of, fields_of, lines, values_of

FILE = local_pb2.DESCRIPTOR
SERVICE = FILE.services_by_name["LocalDaemonService"]


@pytest.mark.behaviour("obey.contract.package")
def test_package_and_service_have_their_names() -> None:
    assert SERVICE.full_name == "obey.local.v1.LocalDaemonService"
    assert list(FILE.services_by_name) == ["LocalDaemonService"]


@pytest.mark.behaviour("obey.contract.rpcs")
def test_the_session_calls_are_as_published() -> None:
    assert lines(
        """
        CreateSession(CreateSessionRequest) -> CreateSessionResponse
        GetSession(GetSessionRequest) -> SessionInfo
        ListSessions(ListSessionsRequest) -> ListSessionsResponse
        SendMessage(SendMessageRequest) -> stream SessionActivityEvent
        StopSession(StopSessionRequest) -> StopSessionResponse
        RestartSession(RestartSessionRequest) -> CreateSessionResponse
        WatchSession(WatchSessionRequest) -> stream SessionStatusEvent
        WatchAllSessions(WatchAllSessionsRequest) -> stream SessionStatusEvent
        """
    ) <= calls_of(SERVICE)


@pytest.mark.behaviour("obey.contract.existing-rpcs")
def test_the_calls_from_before_sessions_keep_their_signatures() -> None:
    assert lines(
        """
        ReportCampaignEvent(CampaignEventRequest) -> EventResponse
        ReportFestivalEvent(FestivalEventRequest) -> EventResponse
        StreamAgentActivity(stream AgentActivityEvent) -> ActivityAck
        Ping(PingRequest) -> PingResponse
        GetState(StateRequest) -> StateResponse
        Execute(ExecuteRequest) -> stream ExecuteResponse
        Shutdown(ShutdownRequest) -> ShutdownResponse
        """
    ) <= calls_of(SERVICE)


def test_two_calls_were_added() -> None:
    assert lines(
        """
        AnswerPermission(AnswerPermissionRequest) -> AnswerPermissionResponse
        WatchActivity(WatchActivityRequest) -> stream SessionActivityEvent
        """
    ) <= calls_of(SERVICE)


@pytest.mark.behaviour("obey.contract.status")
def test_statuses_have_their_numbers() -> None:
    assert values_of(FILE.enum_types_by_name["SessionStatus"]) == lines(
        """
        SESSION_STATUS_UNSPECIFIED = 0
        SESSION_STATUS_CREATED = 1
        SESSION_STATUS_STARTING = 2
        SESSION_STATUS_RUNNING = 3
        SESSION_STATUS_WORKING = 4
        SESSION_STATUS_STOPPING = 5
        SESSION_STATUS_STOPPED = 6
        SESSION_STATUS_FAILED = 7
        """
    )


@pytest.mark.behaviour("obey.contract.provider")
def test_providers_have_their_numbers_and_two_were_added() -> None:
    assert values_of(FILE.enum_types_by_name["SessionProvider"]) == lines(
        """
        SESSION_PROVIDER_UNSPECIFIED = 0
        SESSION_PROVIDER_CLAUDE_CODE = 1
        SESSION_PROVIDER_OPENCLAW = 2
        SESSION_PROVIDER_CODEX = 3
        SESSION_PROVIDER_OPENAI_API = 4
        SESSION_PROVIDER_ACP = 5
        SESSION_PROVIDER_DEMO = 6
        """
    )


@pytest.mark.behaviour("obey.contract.activity")
def test_activities_have_their_numbers() -> None:
    assert values_of(FILE.enum_types_by_name["ActivityType"]) == lines(
        """
        ACTIVITY_TYPE_UNSPECIFIED = 0
        ACTIVITY_TYPE_THINKING = 1
        ACTIVITY_TYPE_TOOL_CALL = 2
        ACTIVITY_TYPE_TOOL_RESULT = 3
        ACTIVITY_TYPE_COMPLETION = 4
        ACTIVITY_TYPE_ERROR = 5
        ACTIVITY_TYPE_STATUS = 6
        """
    )


MESSAGES = {
    "CreateSessionRequest": """
        string campaign_id = 1
        SessionProvider provider = 2
        string model = 3
        string agent_name = 4
        string festival_id = 5
        string task_id = 6
        map<string, string> provider_config = 7
        map<string, string> environment = 8
        int64 max_tokens = 9
        Duration timeout = 10
        string initial_message = 11
        """,
    "CreateSessionResponse": "SessionInfo session = 1",
    "GetSessionRequest": "string session_id = 1",
    "ListSessionsRequest": """
        string campaign_id = 1
        repeated SessionStatus statuses = 2
        SessionProvider provider = 3
        bool include_terminated = 4
        """,
    "ListSessionsResponse": "repeated SessionInfo sessions = 1",
    "SendMessageRequest": """
        string session_id = 1
        string message = 2
        """,
    "StopSessionRequest": """
        string session_id = 1
        bool graceful = 2
        """,
    "StopSessionResponse": "SessionInfo session = 1",
    "RestartSessionRequest": """
        string session_id = 1
        map<string, string> provider_config = 2
        """,
    "WatchSessionRequest": "string session_id = 1",
    "WatchAllSessionsRequest": "string campaign_id = 1",
    "SessionInfo": """
        string id = 1
        string campaign_id = 2
        SessionProvider provider = 3
        string model = 4
        string agent_name = 5
        SessionStatus status = 6
        string festival_id = 7
        string task_id = 8
        int64 tokens_input = 9
        int64 tokens_output = 10
        int64 max_tokens = 11
        int32 pid = 12
        int32 restart_count = 13
        Timestamp created_at = 14
        Timestamp started_at = 15
        Timestamp last_activity_at = 16
        Timestamp ended_at = 17
        string error_message = 18
        string working_dir = 19
        """,
    "SessionActivityEvent": """
        string session_id = 1
        ActivityType type = 2
        string content = 3
        string tool_name = 4
        string tool_call_id = 5
        bool tool_success = 6
        int64 tokens_input = 7
        int64 tokens_output = 8
        Timestamp timestamp = 9
        """,
    "SessionStatusEvent": """
        string session_id = 1
        SessionStatus previous_status = 2
        SessionStatus new_status = 3
        string message = 4
        Timestamp timestamp = 5
        """,
}


ADDED = {"CreateSessionRequest": "string working_dir = 100"}


@pytest.mark.behaviour("obey.contract.messages")
@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_has_exactly_its_fields_and_what_was_added_far_behind_them(name: str) -> None:
    added = lines(ADDED.get(name, ""))
    assert fields_of(FILE.message_types_by_name[name]) == lines(MESSAGES[name]) | added
    assert all(int(field.rpartition(" ")[2]) >= 100 for field in added)


@pytest.mark.behaviour("obey.contract.state-response")
def test_the_state_lists_sessions_at_10() -> None:
    assert "repeated SessionSummary active_sessions = 10" in fields_of(FILE.message_types_by_name["StateResponse"])
    assert fields_of(FILE.message_types_by_name["SessionSummary"]) == lines(
        """
        string id = 1
        string campaign_id = 2
        SessionProvider provider = 3
        string agent_name = 4
        SessionStatus status = 5
        """
    )
