"""What was published of versions, machines, the tunnel and health, written out literally.

Nothing here is derived from the generated code.
"""

CALLS = {
    "version": (
        "VersionService",
        """
        GetVersion(GetVersionRequest) -> GetVersionResponse
        NegotiateCapabilities(NegotiateRequest) -> NegotiateResponse
        """,
    ),
    "machine": (
        "MachineService",
        """
        ListMachines(ListMachinesRequest) -> ListMachinesResponse
        GetMachine(GetMachineRequest) -> Machine
        SwitchMachine(SwitchMachineRequest) -> SwitchMachineResponse
        """,
    ),
    "tunnel": (
        "TunnelService",
        """
        OpenTunnel(stream TunnelFrame) -> stream TunnelFrame
        Register(RegisterRequest) -> RegisterResponse
        Heartbeat(HeartbeatRequest) -> HeartbeatResponse
        """,
    ),
    "health": (
        "BetCodeHealth",
        """
        GetHealthDetails(HealthDetailsRequest) -> HealthDetailsResponse
        """,
    ),
}

MESSAGES = {
    "version": {
        "GetVersionRequest": "",
        "GetVersionResponse": """
        string api_version = 1
        string server_version = 2
        repeated string features = 3
        ClaudeCodeInfo claude_code = 4
        VersionConstraints constraints = 5
        repeated FeatureFlag feature_flags = 30
        repeated DeprecationWarning deprecations = 31
        """,
        "ClaudeCodeInfo": """
        string version = 1
        string api_version = 2
        CompatibilityLevel compatibility = 3
        string minimum_version = 30
        string upgrade_url = 31
        """,
        "VersionConstraints": """
        string min_client_version = 1
        string recommended_client = 2
        repeated string deprecated_features = 3
        map<string, string> feature_replacements = 4
        """,
        "NegotiateRequest": """
        string client_version = 1
        string client_type = 2
        repeated string requested_features = 3
        map<string, string> client_capabilities = 4
        """,
        "NegotiateResponse": """
        bool accepted = 1
        string rejection_reason = 2
        string upgrade_url = 3
        repeated string granted_features = 4
        repeated string warnings = 5
        CapabilitySet capabilities = 6
        """,
        "CapabilitySet": """
        bool streaming_supported = 1
        bool compression_supported = 2
        uint32 max_message_size = 3
        repeated string available_tools = 4
        repeated string available_models = 5
        bool subagents_enabled = 6
        bool worktrees_enabled = 7
        map<string, bool> feature_flags = 8
        """,
        "FeatureFlag": """
        string name = 1
        string description = 2
        FeatureStage stage = 3
        string introduced_version = 4
        string min_client_version = 5
        string deprecated_version = 6
        string removal_version = 7
        bool is_enabled = 30
        bool is_built = 31
        """,
        "DeprecationWarning": """
        string feature = 1
        string replacement = 2
        string removal_version = 3
        string migration_url = 4
        Severity severity = 5
        """,
    },
    "machine": {
        "ListMachinesRequest": "",
        "ListMachinesResponse": "repeated Machine machines = 1",
        "GetMachineRequest": "string machine_id = 1",
        "Machine": """
        string id = 1
        string name = 2
        string hostname = 3
        MachineStatus status = 4
        repeated string capabilities = 5
        Timestamp last_seen = 6
        repeated WorktreeInfo worktrees = 7
        MachineResources resources = 8
        """,
        "MachineResources": """
        string os = 1
        uint32 cpu_cores = 2
        uint64 memory_bytes = 3
        uint64 disk_free_bytes = 4
        """,
        "SwitchMachineRequest": "string machine_id = 1",
        "SwitchMachineResponse": """
        Machine machine = 1
        string previous_machine_id = 2
        """,
    },
    "tunnel": {
        "TunnelFrame": """
        string request_id = 1
        uint64 sequence = 2
        string service_name = 8
        string method_name = 9
        bytes grpc_request = 3
        bytes grpc_response = 4
        TunnelHeartbeat heartbeat = 5
        ErrorFrame error = 6
        StreamFrame stream = 7
        """,
        "StreamFrame": """
        bytes data = 1
        bool end_of_stream = 2
        """,
        "ErrorFrame": """
        string code = 1
        string message = 2
        """,
        "TunnelHeartbeat": "Timestamp sent_at = 1",
        "RegisterRequest": """
        string machine_id = 1
        string machine_name = 2
        repeated string capabilities = 3
        MachineInfo info = 4
        """,
        "MachineInfo": """
        string os = 1
        string arch = 2
        string version = 3
        uint32 cpu_cores = 4
        uint64 memory_bytes = 5
        """,
        "RegisterResponse": """
        bool accepted = 1
        string message = 2
        uint32 heartbeat_interval_secs = 3
        """,
        "HeartbeatRequest": """
        string machine_id = 1
        Timestamp sent_at = 2
        MachineMetrics metrics = 3
        """,
        "MachineMetrics": """
        float cpu_usage_percent = 1
        uint64 memory_used_bytes = 2
        uint32 active_sessions = 3
        """,
        "HeartbeatResponse": """
        Timestamp received_at = 1
        uint32 buffered_messages = 2
        """,
    },
    "health": {
        "HealthDetailsRequest": "",
        "HealthDetailsResponse": """
        ServingStatus overall_status = 1
        repeated ComponentHealth components = 2
        map<string, string> metadata = 3
        bool degraded = 4
        string degraded_reason = 5
        repeated UnusableRun unusable_runs = 6
        """,
        "UnusableRun": """
        string name = 1
        string session_id = 2
        string problem = 3
        string remedy = 4
        bool can_be_set_aside = 5
        """,
        "ComponentHealth": """
        string name = 1
        ServingStatus status = 2
        string message = 3
        Timestamp last_check = 4
        """,
    },
}

ENUMS = {
    "version": {
        "CompatibilityLevel": """
        COMPATIBILITY_UNKNOWN = 0
        FULLY_COMPATIBLE = 1
        LIKELY_COMPATIBLE = 2
        DEGRADED = 3
        INCOMPATIBLE = 4
        """,
        "FeatureStage": """
        FEATURE_STAGE_UNKNOWN = 0
        ALPHA = 1
        BETA = 2
        STABLE = 3
        DEPRECATED = 4
        REMOVED = 5
        """,
        "Severity": """
        SEVERITY_UNKNOWN = 0
        INFO = 1
        WARNING = 2
        URGENT = 3
        """,
    },
    "machine": {
        "MachineStatus": """
        MACHINE_STATUS_UNSPECIFIED = 0
        ONLINE = 1
        OFFLINE = 2
        CONNECTING = 3
        """,
    },
    "health": {
        "ServingStatus": """
        UNKNOWN = 0
        SERVING = 1
        NOT_SERVING = 2
        SERVICE_UNKNOWN = 3
        """,
    },
}
