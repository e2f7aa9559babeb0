"""What was published of subagents, written out literally; nothing here is derived from the generated code."""

CALLS = {
    "subagent": (
        "SubagentService",
        """
        SpawnSubagent(SpawnSubagentRequest) -> SpawnSubagentResponse
        WatchSubagent(WatchSubagentRequest) -> stream SubagentEvent
        SendToSubagent(SendToSubagentRequest) -> SendToSubagentResponse
        CancelSubagent(CancelSubagentRequest) -> CancelSubagentResponse
        ListSubagents(ListSubagentsRequest) -> ListSubagentsResponse
        CreateOrchestration(CreateOrchestrationRequest) -> CreateOrchestrationResponse
        WatchOrchestration(WatchOrchestrationRequest) -> stream OrchestrationEvent
        RevokeAutoApprove(RevokeAutoApproveRequest) -> RevokeAutoApproveResponse
        """,
    ),
}

MESSAGES = {
    "subagent": {
        "SpawnSubagentRequest": """
        string parent_session_id = 1
        string prompt = 2
        string model = 3
        string working_directory = 4
        repeated string allowed_tools = 5
        int32 max_turns = 6
        map<string, string> env = 7
        string name = 8
        bool auto_approve = 9
        """,
        "SpawnSubagentResponse": """
        string subagent_id = 1
        string session_id = 2
        """,
        "WatchSubagentRequest": """
        string subagent_id = 1
        uint64 from_sequence = 2
        """,
        "SendToSubagentRequest": """
        string subagent_id = 1
        string content = 2
        """,
        "SendToSubagentResponse": "bool delivered = 1",
        "CancelSubagentRequest": """
        string subagent_id = 1
        string reason = 2
        bool force = 3
        bool cleanup_worktree = 4
        """,
        "CancelSubagentResponse": """
        bool cancelled = 1
        string final_status = 2
        int32 tool_calls_executed = 3
        int32 tool_calls_auto_approved = 4
        """,
        "ListSubagentsRequest": """
        string parent_session_id = 1
        string status_filter = 2
        """,
        "ListSubagentsResponse": "repeated SubagentInfo subagents = 1",
        "SubagentInfo": """
        string id = 1
        string parent_session_id = 2
        string session_id = 3
        string name = 4
        string prompt = 5
        string model = 6
        string working_directory = 7
        SubagentStatus status = 8
        bool auto_approve = 9
        int32 max_turns = 10
        repeated string allowed_tools = 11
        string result_summary = 12
        Timestamp created_at = 13
        Timestamp completed_at = 14
        """,
        "SubagentEvent": """
        string subagent_id = 1
        Timestamp timestamp = 2
        SubagentStarted started = 3
        SubagentOutput output = 4
        SubagentToolUse tool_use = 5
        SubagentPermissionRequest permission_request = 6
        SubagentCompleted completed = 7
        SubagentFailed failed = 8
        SubagentCancelled cancelled = 9
        """,
        "SubagentStarted": """
        string session_id = 1
        string model = 2
        """,
        "SubagentOutput": """
        string text = 1
        bool is_complete = 2
        """,
        "SubagentToolUse": """
        string tool_id = 1
        string tool_name = 2
        string description = 3
        """,
        "SubagentPermissionRequest": """
        string request_id = 1
        string tool_name = 2
        string description = 3
        """,
        "SubagentCompleted": """
        int32 exit_code = 1
        string result_summary = 2
        """,
        "SubagentFailed": """
        int32 exit_code = 1
        string error_message = 2
        """,
        "SubagentCancelled": "string reason = 1",
        "RevokeAutoApproveRequest": """
        string subagent_id = 1
        string reason = 2
        bool terminate_if_pending = 3
        """,
        "RevokeAutoApproveResponse": """
        bool revoked = 1
        int32 pending_tool_calls = 2
        string subagent_status = 3
        """,
        "CreateOrchestrationRequest": """
        string parent_session_id = 1
        repeated OrchestrationStep steps = 2
        OrchestrationStrategy strategy = 3
        """,
        "CreateOrchestrationResponse": """
        string orchestration_id = 1
        int32 total_steps = 2
        """,
        "OrchestrationStep": """
        string id = 1
        string name = 2
        string prompt = 3
        string model = 4
        string working_directory = 5
        repeated string allowed_tools = 6
        repeated string depends_on = 7
        int32 max_turns = 8
        bool auto_approve = 9
        """,
        "WatchOrchestrationRequest": "string orchestration_id = 1",
        "OrchestrationEvent": """
        string orchestration_id = 1
        Timestamp timestamp = 2
        StepStarted step_started = 3
        StepCompleted step_completed = 4
        StepFailed step_failed = 5
        OrchestrationCompleted completed = 6
        OrchestrationFailed failed = 7
        """,
        "StepStarted": """
        string step_id = 1
        string subagent_id = 2
        string name = 3
        """,
        "StepCompleted": """
        string step_id = 1
        string result_summary = 2
        int32 completed_count = 3
        int32 total_count = 4
        """,
        "StepFailed": """
        string step_id = 1
        string error_message = 2
        repeated string blocked_steps = 3
        """,
        "OrchestrationCompleted": """
        int32 total_steps = 1
        int32 succeeded = 2
        int32 failed = 3
        """,
        "OrchestrationFailed": """
        string error_message = 1
        int32 completed_steps = 2
        int32 failed_steps = 3
        """,
    },
}

ENUMS = {
    "subagent": {
        "SubagentStatus": """
        SUBAGENT_STATUS_UNSPECIFIED = 0
        SUBAGENT_STATUS_PENDING = 1
        SUBAGENT_STATUS_RUNNING = 2
        SUBAGENT_STATUS_COMPLETED = 3
        SUBAGENT_STATUS_FAILED = 4
        SUBAGENT_STATUS_CANCELLED = 5
        """,
        "OrchestrationStrategy": """
        ORCHESTRATION_STRATEGY_UNSPECIFIED = 0
        ORCHESTRATION_STRATEGY_PARALLEL = 1
        ORCHESTRATION_STRATEGY_SEQUENTIAL = 2
        ORCHESTRATION_STRATEGY_DAG = 3
        """,
    },
}
