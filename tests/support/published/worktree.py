"""What there is of worktrees: first what was published, then, from number 30 on, what this project added.

Nothing here is derived from the generated code.
"""

CALLS = {
    "worktree": (
        "WorktreeService",
        """
        ListWorktrees(ListWorktreesRequest) -> ListWorktreesResponse
        CreateWorktree(CreateWorktreeRequest) -> WorktreeInfo
        SwitchWorktree(SwitchWorktreeRequest) -> SwitchWorktreeResponse
        RemoveWorktree(RemoveWorktreeRequest) -> RemoveWorktreeResponse
        WatchCreateWorktree(CreateWorktreeRequest) -> stream WorktreeProgress
        SetUpWorktree(SetUpWorktreeRequest) -> stream WorktreeProgress
        ReadSetupOutput(ReadSetupOutputRequest) -> stream WorktreeOutput
        InspectWorktree(InspectWorktreeRequest) -> WorktreeContents
        ListRemovedWorktrees(ListRemovedWorktreesRequest) -> ListRemovedWorktreesResponse
        RestoreWorktree(RestoreWorktreeRequest) -> WorktreeInfo
        ReportWorktrees(ReportWorktreesRequest) -> stream WorktreeReport
        ForgetWorktree(ForgetWorktreeRequest) -> ForgetWorktreeResponse
        DiffWorktree(DiffWorktreeRequest) -> stream DiffChunk
        ListRepositories(ListRepositoriesRequest) -> ListRepositoriesResponse
        ListBranches(ListBranchesRequest) -> ListBranchesResponse
        """,
    ),
}

MESSAGES = {
    "worktree": {
        "ListWorktreesRequest": "string repo_path = 1",
        "ListWorktreesResponse": "repeated WorktreeInfo worktrees = 1",
        "WorktreeInfo": """
        string id = 1
        string name = 2
        string path = 3
        string branch = 4
        Timestamp created_at = 5
        string active_session_id = 6
        string repo_path = 30
        WorktreeState state = 31
        WorktreeSetup setup = 32
        bool is_main = 33
        bool is_active = 34
        bool was_adopted = 35
        string head = 36
        string locked = 37
        string base = 38
        uint32 session_count = 39
        Timestamp last_used_at = 40
        string trouble = 41
        bool is_locked = 42
        """,
        "CreateWorktreeRequest": """
        string repo_path = 1
        string branch = 2
        string name = 3
        string path = 4
        bool create_branch = 5
        string base = 30
        OnSetupFailure on_setup_failure = 31
        bool skip_setup = 32
        """,
        "WorktreeProgress": """
        WorktreeStep step = 1
        WorktreeOutput output = 2
        WorktreeInfo done = 3
        """,
        "WorktreeStep": """
        string what = 1
        uint32 number = 2
        uint32 of = 3
        """,
        "WorktreeOutput": """
        bytes data = 1
        uint64 left_out_bytes = 2
        """,
        "SetUpWorktreeRequest": "string worktree_id = 1",
        "ReadSetupOutputRequest": "string worktree_id = 1",
        "SwitchWorktreeRequest": """
        string worktree_id = 1
        StartAs start_as = 30
        """,
        "StartAs": """
        string provider = 1
        string model = 2
        map<string, string> environment = 3
        """,
        "SwitchWorktreeResponse": """
        WorktreeInfo worktree = 1
        string previous_worktree_id = 2
        string session_id = 30
        bool session_created = 31
        """,
        "RemoveWorktreeRequest": """
        string worktree_id = 1
        bool force = 2
        """,
        "RemoveWorktreeResponse": """
        bool removed = 1
        uint32 sessions_closed = 2
        string removed_id = 30
        Timestamp kept_until = 31
        """,
        "InspectWorktreeRequest": "string worktree_id = 1",
        "WorktreeContents": """
        repeated ChangedPath changed = 1
        repeated string untracked = 2
        repeated UnpushedCommit unpushed = 3
        string in_progress = 4
        repeated string brought_along_changed = 5
        repeated string submodules = 6
        uint32 changed_count = 7
        uint32 untracked_count = 8
        uint32 unpushed_count = 9
        bool is_clean = 10
        """,
        "ChangedPath": """
        string path = 1
        string status = 2
        string from_path = 3
        """,
        "UnpushedCommit": """
        string commit = 1
        string subject = 2
        Timestamp committed_at = 3
        """,
        "ListRemovedWorktreesRequest": "string repo_path = 1",
        "ListRemovedWorktreesResponse": "repeated RemovedWorktree removed = 1",
        "RemovedWorktree": """
        string id = 1
        string repo_path = 2
        string name = 3
        string branch = 4
        string path = 5
        string head = 6
        Timestamp removed_at = 7
        Timestamp kept_until = 8
        string ref = 9
        uint32 changed_count = 10
        uint32 untracked_count = 11
        uint32 unpushed_count = 12
        """,
        "RestoreWorktreeRequest": """
        string repo_path = 1
        string removed_id = 2
        string path = 3
        """,
        "ReportWorktreesRequest": "string repo_path = 1",
        "WorktreeReport": """
        WorktreeInfo worktree = 1
        uint64 size_bytes = 2
        BranchState branch_state = 3
        uint32 changed_count = 4
        uint32 untracked_count = 5
        uint32 unpushed_count = 6
        string last_session_id = 7
        Timestamp last_session_at = 8
        bool may_be_removed = 9
        string reason = 10
        bool is_size_partial = 11
        uint32 of = 12
        """,
        "ForgetWorktreeRequest": "string worktree_id = 1",
        "ForgetWorktreeResponse": "bool forgotten = 1",
        "DiffWorktreeRequest": """
        string worktree_id = 1
        bool stat_only = 2
        string base = 3
        """,
        "DiffChunk": """
        bytes data = 1
        string note = 2
        """,
        "ListRepositoriesRequest": "",
        "ListRepositoriesResponse": "repeated RepositoryInfo repositories = 1",
        "RepositoryInfo": """
        string id = 1
        string path = 2
        string name = 3
        bool is_bare = 4
        string active_worktree_id = 5
        uint32 worktree_count = 6
        Timestamp last_used_at = 7
        """,
        "ListBranchesRequest": """
        string repo_path = 1
        bool include_remote = 2
        """,
        "ListBranchesResponse": """
        repeated BranchInfo branches = 1
        uint32 left_out = 2
        """,
        "BranchInfo": """
        string name = 1
        bool is_head = 2
        string commit = 3
        string subject = 4
        string worktree_id = 5
        bool is_remote = 6
        """,
    },
}

ENUMS = {
    "worktree": {
        "WorktreeState": """
        WORKTREE_STATE_UNSPECIFIED = 0
        WORKTREE_STATE_CREATING = 1
        WORKTREE_STATE_READY = 2
        WORKTREE_STATE_STALE = 3
        WORKTREE_STATE_REMOVING = 4
        """,
        "WorktreeSetup": """
        WORKTREE_SETUP_UNSPECIFIED = 0
        WORKTREE_SETUP_NONE = 1
        WORKTREE_SETUP_RUNNING = 2
        WORKTREE_SETUP_DONE = 3
        WORKTREE_SETUP_FAILED = 4
        WORKTREE_SETUP_TIMED_OUT = 5
        WORKTREE_SETUP_UNTRUSTED = 6
        WORKTREE_SETUP_SKIPPED = 7
        """,
        "OnSetupFailure": """
        ON_SETUP_FAILURE_UNSPECIFIED = 0
        ON_SETUP_FAILURE_KEEP = 1
        ON_SETUP_FAILURE_ROLL_BACK = 2
        """,
        "BranchState": """
        BRANCH_STATE_UNSPECIFIED = 0
        BRANCH_STATE_MERGED = 1
        BRANCH_STATE_AHEAD = 2
        BRANCH_STATE_DETACHED = 3
        BRANCH_STATE_GONE = 4
        """,
    },
}
