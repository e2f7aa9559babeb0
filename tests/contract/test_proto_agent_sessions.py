"""The messages of agent.proto about sessions say what was published, number by number."""

import pytest

from betcode.v1 import agent_pb2
from support.published.descriptors import fields_of, lines

PUBLISHED = [
    pytest.param(
        "ListSessionsRequest",
        """
        string working_directory = 1
        string worktree_id = 2
        uint32 limit = 3
        uint32 offset = 4
        """,
        marks=pytest.mark.behaviour("contract.agent.list-sessions"),
    ),
    pytest.param(
        "ListSessionsResponse",
        """
        repeated SessionSummary sessions = 1
        uint32 total = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.list-sessions"),
    ),
    pytest.param(
        "SessionSummary",
        """
        string id = 1
        string model = 2
        string working_directory = 3
        string worktree_id = 4
        string status = 5
        uint32 message_count = 6
        uint32 total_input_tokens = 7
        uint32 total_output_tokens = 8
        double total_cost_usd = 9
        Timestamp created_at = 10
        Timestamp updated_at = 11
        string last_message_preview = 12
        string name = 13
        """,
        marks=pytest.mark.behaviour("contract.agent.list-sessions"),
    ),
    pytest.param(
        "ResumeSessionRequest",
        """
        string session_id = 1
        uint64 from_sequence = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.session-rpc-messages"),
    ),
    pytest.param(
        "CompactSessionRequest",
        "string session_id = 1",
        marks=pytest.mark.behaviour("contract.agent.session-rpc-messages"),
    ),
    pytest.param(
        "CompactSessionResponse",
        """
        uint32 messages_before = 1
        uint32 messages_after = 2
        uint32 tokens_saved = 3
        """,
        marks=pytest.mark.behaviour("contract.agent.session-rpc-messages"),
    ),
    pytest.param(
        "CancelTurnRequest", "string session_id = 1", marks=pytest.mark.behaviour("contract.agent.session-rpc-messages")
    ),
    pytest.param(
        "CancelTurnResponse", "bool was_active = 1", marks=pytest.mark.behaviour("contract.agent.session-rpc-messages")
    ),
    pytest.param(
        "InputLockRequest", "string session_id = 1", marks=pytest.mark.behaviour("contract.agent.session-rpc-messages")
    ),
    pytest.param(
        "InputLockResponse",
        """
        bool granted = 1
        string previous_holder = 2
        """,
        marks=pytest.mark.behaviour("contract.agent.session-rpc-messages"),
    ),
]


@pytest.mark.parametrize(("name", "table"), PUBLISHED)
def test_a_message_has_its_published_fields(name: str, table: str) -> None:
    missing = lines(table) - fields_of(agent_pb2.DESCRIPTOR.message_types_by_name[name])
    assert not missing
