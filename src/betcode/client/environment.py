"""Select the environment variables that a new session inherits from its client.

The agent needs the person's PATH, language, key agents, proxies and version managers, but no other variables of the
shell. The selection is sent once, stored privately with the session, and never logged.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

ALLOWED: tuple[str, ...] = (
    # user and machine
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM",
    "EDITOR", "VISUAL", "PAGER", "XDG_*", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
    # key agents and git
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_TTY", "GNUPGHOME", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL",
    # network
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY",
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    # version managers and language homes
    "PYENV_*", "NVM_*", "ASDF_*", "RBENV_*", "MISE_*", "VOLTA_HOME", "FNM_*", "SDKMAN_DIR", "SDKMAN_CANDIDATES_DIR",
    "GOPATH", "GOROOT", "GOBIN", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GRADLE_USER_HOME",
    "VIRTUAL_ENV", "CONDA_*", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "GEM_HOME", "GEM_PATH", "HOMEBREW_*",
    "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "DIRENV_*", "DOCKER_HOST", "KUBECONFIG",
    # the agent itself
    "ANTHROPIC_*", "CLAUDE_*", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "IS_SANDBOX",
    # its models on Bedrock
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
    # its models on Vertex
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_REGION_*",
    "GCLOUD_PROJECT",
)  # fmt: skip

# Further variables by provider: no other provider gets the keys of its model's API.
OF_KIND: Mapping[str, tuple[str, ...]] = {
    "codex": ("CODEX_*", "OPENAI_*"),
    "acp": ("OPENCODE_*", "GEMINI_*", "GOOGLE_API_KEY", "CODEX_*", "OPENAI_*"),
    "opencode": ("OPENCODE_*", "OPENAI_*"),
    "gemini": ("GEMINI_*", "GOOGLE_API_KEY"),
    "codex-acp": ("CODEX_*", "OPENAI_*"),
    "openai": ("OPENAI_*",),
    "openclaw": ("OPENCLAW_*",),
    "demo": ("BETCODE_DEMO_*",),  # the recording and its speed
}

# Variables of a process inside an agent or under betcode; a new session is neither.
WITHHELD: tuple[str, ...] = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "BETCODE_RUN")


def session_environment(
    environ: Mapping[str, str], also: Iterable[str] = (), kinds: Iterable[str] = ()
) -> dict[str, str]:
    """Return the variables for a session; `also` are further names or patterns from the settings.

    `kinds` are its providers; without one, only Claude's keys are included.
    """
    patterns = (*ALLOWED, *also, *(name for kind in kinds for name in OF_KIND.get(kind, ())))
    exact = {pattern for pattern in patterns if "*" not in pattern}
    wild = [pattern for pattern in patterns if "*" in pattern]
    return {
        name: value
        for name, value in environ.items()
        if name not in WITHHELD
        and (name in exact or any(fnmatchcase(name, pattern) for pattern in wild))
        and _can_be_sent(value)
    }


def _can_be_sent(value: str) -> bool:
    """Whether the value is text: other bytes cannot be sent, so the variable is dropped."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
