"""Select the environment variables that a new session inherits from its client.

The agent needs the person's PATH, language, key agents, proxies and version managers, but no other variables of the
shell. The selection is sent once, stored privately with the session, and never logged.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from betcode.providers.specs import SPECS

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
    # what an agent needs wherever it runs: its login, and cloud accounts with its models
    *(name for spec in SPECS.values() for name in spec.shared_environment),
)  # fmt: skip

# Set in processes that run inside an agent or under betcode; a new session does neither.
WITHHELD: tuple[str, ...] = (*(name for spec in SPECS.values() for name in spec.inner_environment), "BETCODE_RUN")


def session_environment(
    environ: Mapping[str, str], also: Iterable[str] = (), providers: Iterable[str] = ()
) -> dict[str, str]:
    """Return the part of `environ` that a client sends for a new session of one of `providers`.

    `also` are further names or patterns, from the settings. The keys of a model's API are sent for no other provider.
    """
    specs = [SPECS[name] for name in providers if name in SPECS]
    patterns = (*ALLOWED, *also, *(name for spec in specs for name in spec.environment))
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
