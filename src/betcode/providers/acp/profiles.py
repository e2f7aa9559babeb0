"""The profiles of tested programs. Any other program uses `generic`."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from betcode.domain.agents.project_files import Program
from betcode.providers.acp import spec
from betcode.providers.acp.profile import Profile

GENERIC = Profile(name=spec.GENERIC_PROFILE, title="The agent")

# Merged over the permissions in the user's own configuration, because by default opencode asks about nothing. This
# replaces opencode's rules by those of betcode.
_ASK = {
    "*": "ask",
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("glob", "grep", "list", "lsp", "todoread", "todowrite", "skill", "question"), "allow"),
}

_ALL = (
    Profile(
        name=spec.OPENCODE.name,
        title=spec.OPENCODE.title,
        argv=("opencode", "acp"),
        env={"OPENCODE_PERMISSION": json.dumps(_ASK)},
        reject_ends_turn=True,
        reports_cost=True,
        has_version_option=True,
        login="run `opencode auth login` in a terminal",
        install="npm install -g opencode-ai",
        project_files=frozenset({Program.OPENCODE}),
        env_without_project={"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_PURE": "1"},
    ),
    Profile(
        name=spec.GEMINI.name,
        title=spec.GEMINI.title,
        argv=("gemini", "--acp"),
        resumes=False,  # it reports the capability, but does not find the conversation of a killed process
        title_is_command=True,
        has_version_option=True,
        login="run `gemini` once in a terminal, or set GEMINI_API_KEY",
        install="npm install -g @google/gemini-cli",
        project_files=frozenset({Program.GEMINI}),
        env_trusted={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        env_without_project={"GEMINI_CLI_TRUST_WORKSPACE": "false"},
    ),
    Profile(
        name=spec.CLAUDE_AGENT.name,
        title=spec.CLAUDE_AGENT.title,
        argv=("claude-agent-acp",),
        own_tool_names=True,
        reports_cost=True,
        login="run `claude` once in a terminal, or set ANTHROPIC_API_KEY",
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        project_files=frozenset({Program.CLAUDE}),
    ),
    Profile(
        name=spec.CODEX.name,
        title=spec.CODEX.title,
        argv=("codex-acp",),
        mode="workspace-write",  # in its default mode a reviewing model decides and no person is asked
        reject_ends_turn=True,
        cancel_ends_command=False,
        login="run `codex login` in a terminal, or set OPENAI_API_KEY",
        install="npm install -g @agentclientprotocol/codex-acp",
        project_files=frozenset({Program.CODEX}),
    ),
    GENERIC,
)
PROFILES: Mapping[str, Profile] = MappingProxyType({each.name: each for each in _ALL})
