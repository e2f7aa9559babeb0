"""What was published of settings and GitLab, and added since, written out; nothing is derived from generated code."""

CALLS = {
    "config": (
        "ConfigService",
        """
        GetSettings(GetSettingsRequest) -> Settings
        UpdateSettings(UpdateSettingsRequest) -> Settings
        ListMcpServers(ListMcpServersRequest) -> ListMcpServersResponse
        GetPermissions(GetPermissionsRequest) -> PermissionRules
        """,
    ),
    "gitlab": (
        "GitLabService",
        """
        ListMergeRequests(ListMrsRequest) -> ListMrsResponse
        GetMergeRequest(GetMrRequest) -> MergeRequestInfo
        ListPipelines(ListPipelinesRequest) -> ListPipelinesResponse
        GetPipelineJobs(GetJobsRequest) -> GetJobsResponse
        GetJobLog(GetJobLogRequest) -> GetJobLogResponse
        ListIssues(ListIssuesRequest) -> ListIssuesResponse
        GetPipeline(GetPipelineRequest) -> GetPipelineResponse
        GetIssue(GetIssueRequest) -> GetIssueResponse
        """,
    ),
}

MESSAGES = {
    "config": {
        "GetSettingsRequest": """
        string scope = 1
        string working_directory = 30
        """,
        "UpdateSettingsRequest": """
        Settings settings = 1
        string scope = 2
        string working_directory = 30
        string if_unchanged = 31
        FieldMask update_mask = 32
        map<string, string> set = 33
        repeated string unset = 34
        """,
        "Settings": """
        DaemonSettings daemon = 1
        SessionSettings sessions = 2
        PermissionSettings permissions = 3
        map<string, bool> feature_flags = 4
        repeated SettingEntry entries = 30
        string etag = 31
        string problem = 32
        repeated string warnings = 33
        """,
        "SettingEntry": """
        string key = 1
        string value_json = 2
        string layer = 3
        string origin = 4
        bool is_private = 5
        bool needs_restart = 6
        """,
        "DaemonSettings": """
        uint32 max_subprocesses = 1
        string socket_path = 2
        uint32 port = 3
        string database_path = 4
        string log_level = 5
        uint32 max_payload_bytes = 6
        """,
        "SessionSettings": """
        string default_model = 1
        bool auto_compact = 2
        uint32 auto_compact_threshold = 3
        uint32 max_messages_per_session = 4
        """,
        "PermissionSettings": """
        uint32 connected_timeout_secs = 1
        uint32 disconnected_timeout_secs = 2
        bool enable_auto_approve = 3
        repeated string auto_approve_directories = 4
        bool activity_refresh_enabled = 5
        """,
        "ListMcpServersRequest": """
        string status_filter = 1
        string session_id = 30
        """,
        "ListMcpServersResponse": "repeated McpServerInfo servers = 1",
        "McpServerInfo": """
        string name = 1
        string server_type = 2
        string endpoint = 3
        McpServerStatus status = 4
        repeated string tools = 5
        string error_message = 6
        string session_id = 30
        Timestamp reported_at = 31
        """,
        "GetPermissionsRequest": """
        string session_id = 1
        string working_directory = 30
        """,
        "PermissionRules": """
        repeated PermissionRule rules = 1
        repeated string denied_tools = 2
        repeated string require_approval = 3
        repeated PermissionRule untrusted = 30
        repeated string problems = 31
        """,
        "PermissionRule": """
        string id = 1
        string tool_pattern = 2
        string path_pattern = 3
        PermissionAction action = 4
        uint32 priority = 5
        string description = 6
        string source = 7
        string layer = 30
        string text = 31
        """,
    },
    "gitlab": {
        "ListMrsRequest": """
        string project = 1
        MergeRequestState state_filter = 2
        uint32 limit = 3
        uint32 offset = 4
        """,
        "ListMrsResponse": """
        repeated MergeRequestInfo merge_requests = 1
        uint32 total = 2
        """,
        "GetMrRequest": """
        string project = 1
        uint64 iid = 2
        """,
        "MergeRequestInfo": """
        uint64 id = 1
        uint64 iid = 2
        string title = 3
        string description = 4
        MergeRequestState state = 5
        string source_branch = 6
        string target_branch = 7
        string author = 8
        repeated string labels = 9
        Timestamp created_at = 10
        Timestamp updated_at = 11
        string web_url = 12
        bool draft = 13
        MergeStatus merge_status = 14
        string assignee = 15
        repeated string assignees = 16
        repeated string reviewers = 17
        string milestone = 18
        """,
        "ListPipelinesRequest": """
        string project = 1
        PipelineStatus status_filter = 2
        uint32 limit = 3
        uint32 offset = 4
        """,
        "ListPipelinesResponse": """
        repeated PipelineInfo pipelines = 1
        uint32 total = 2
        """,
        "GetPipelineRequest": """
        string project = 1
        uint64 pipeline_id = 2
        """,
        "GetPipelineResponse": "PipelineInfo pipeline = 1",
        "PipelineInfo": """
        uint64 id = 1
        PipelineStatus status = 2
        string ref_name = 3
        string sha = 4
        string source = 5
        Timestamp created_at = 6
        Timestamp updated_at = 7
        string web_url = 8
        """,
        "GetJobsRequest": """
        string project = 1
        uint64 pipeline_id = 2
        """,
        "GetJobsResponse": "repeated JobInfo jobs = 1",
        "JobInfo": """
        uint64 id = 1
        string name = 2
        string stage = 3
        PipelineStatus status = 4
        Timestamp created_at = 5
        Timestamp started_at = 6
        Timestamp finished_at = 7
        string web_url = 8
        bool allow_failure = 9
        string failure_reason = 10
        """,
        "GetJobLogRequest": """
        string project = 1
        uint64 job_id = 2
        uint64 offset = 3
        uint64 limit = 4
        """,
        "GetJobLogResponse": """
        string content = 1
        uint64 total_bytes = 2
        """,
        "ListIssuesRequest": """
        string project = 1
        IssueState state_filter = 2
        uint32 limit = 3
        uint32 offset = 4
        """,
        "ListIssuesResponse": """
        repeated IssueInfo issues = 1
        uint32 total = 2
        """,
        "GetIssueRequest": """
        string project = 1
        uint64 iid = 2
        """,
        "GetIssueResponse": "IssueInfo issue = 1",
        "IssueInfo": """
        uint64 id = 1
        uint64 iid = 2
        string title = 3
        string description = 4
        IssueState state = 5
        string author = 6
        repeated string labels = 7
        Timestamp created_at = 8
        Timestamp updated_at = 9
        string web_url = 10
        bool confidential = 11
        string assignee = 12
        repeated string assignees = 13
        string milestone = 14
        """,
    },
}

ENUMS = {
    "config": {
        "McpServerStatus": """
        MCP_SERVER_STATUS_UNSPECIFIED = 0
        MCP_SERVER_STATUS_RUNNING = 1
        MCP_SERVER_STATUS_STOPPED = 2
        MCP_SERVER_STATUS_STARTING = 3
        MCP_SERVER_STATUS_ERROR = 4
        """,
        "PermissionAction": """
        PERMISSION_ACTION_UNSPECIFIED = 0
        PERMISSION_ACTION_ALLOW = 1
        PERMISSION_ACTION_DENY = 2
        PERMISSION_ACTION_ASK = 3
        PERMISSION_ACTION_ASK_SESSION = 4
        """,
    },
    "gitlab": {
        "MergeRequestState": """
        MERGE_REQUEST_STATE_UNSPECIFIED = 0
        MERGE_REQUEST_STATE_OPENED = 1
        MERGE_REQUEST_STATE_CLOSED = 2
        MERGE_REQUEST_STATE_MERGED = 3
        MERGE_REQUEST_STATE_LOCKED = 4
        """,
        "MergeStatus": """
        MERGE_STATUS_UNSPECIFIED = 0
        MERGE_STATUS_CAN_BE_MERGED = 1
        MERGE_STATUS_CANNOT_BE_MERGED = 2
        MERGE_STATUS_CHECKING = 3
        MERGE_STATUS_UNCHECKED = 4
        """,
        "PipelineStatus": """
        PIPELINE_STATUS_UNSPECIFIED = 0
        PIPELINE_STATUS_CREATED = 1
        PIPELINE_STATUS_WAITING_FOR_RESOURCE = 2
        PIPELINE_STATUS_PREPARING = 3
        PIPELINE_STATUS_PENDING = 4
        PIPELINE_STATUS_RUNNING = 5
        PIPELINE_STATUS_SUCCESS = 6
        PIPELINE_STATUS_FAILED = 7
        PIPELINE_STATUS_CANCELED = 8
        PIPELINE_STATUS_SKIPPED = 9
        PIPELINE_STATUS_MANUAL = 10
        PIPELINE_STATUS_SCHEDULED = 11
        """,
        "IssueState": """
        ISSUE_STATE_UNSPECIFIED = 0
        ISSUE_STATE_OPENED = 1
        ISSUE_STATE_CLOSED = 2
        """,
    },
}
