"""The settings of the daemon and its clients: frozen values with their defaults. `schema` describes their syntax."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from betcode.config.agent_settings import AgentSettings
from betcode.config.tcp_address import parse_address
from betcode.config.units import NotUnderstood

_MIB = 1024 * 1024

Durability = Literal["normal", "full"]
ExtendOnSetting = Literal["activity", "human"]
ScreenAll = Literal["auto", "always", "never"]
Autostart = Literal["ask", "always", "never"]


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return 4 * 1024 * _MIB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The limits of the engine."""

    turn_limit: int = 5  # turns at work at once
    queue_limit: int = 50  # turns that wait for a slot; 0: refuse at once
    idle_retire_s: float = 600.0  # an agent that is idle for this long is ended
    hang_after_s: float = 300.0  # an agent in a turn without any activity for this long is ended and started again
    warm_limit: int = 8  # idle agents kept for the next message; above it the one idle longest is ended
    agent_memory_limit_bytes: int = field(default_factory=_half_of_memory)  # of all live agents together
    frame_limit_bytes: int = 64 * _MIB  # the longest line an agent may write
    message_limit_bytes: int = 16 * _MIB
    attachment_limit_bytes: int = 10 * _MIB
    cancel_interrupt_s: float = 5.0  # after an interrupt, before SIGINT
    cancel_sigint_s: float = 2.0  # after SIGINT, before SIGTERM
    cancel_term_s: float = 5.0  # after SIGTERM, before everything is killed
    cancel_insist_s: float = 1.0  # a cancel this long after the last step escalates; an earlier one is a repetition
    journal_keep_s: float = 7 * 86400.0  # how long journals of ended agents are kept
    journal_limit_bytes: int = 2048 * _MIB  # and no more of them than this
    lock_answer_s: float = 10.0  # for the holder of an input lock to answer who asks for it
    lock_idle_s: float = 300.0  # without input, after which the lock goes to who waits for it
    durability: Durability = "normal"  # "full": not even a power cut takes the last second
    auto_compact_threshold: int = 0  # a session whose context has more tokens is compacted after its turn; 0: never
    may_compact: bool = True  # the feature context_compaction is on
    memory_limit_bytes: int = 512 * _MIB  # limit of the daemon; above 80 %, the session idle for longest is compacted
    screen_all: ScreenAll = "auto"  # whether every use of a tool is screened; auto: where any rule denies or asks
    permission_ttl_s: float = 7 * 86400.0  # for a prompt without any activity; then it is denied softly
    permission_min_ttl_s: float = 3600.0  # what that may be set to
    permission_max_ttl_s: float = 30 * 86400.0
    extend_on_activity: bool = True  # a person's activity restarts the timeout of a session's prompts
    extend_on: ExtendOnSetting = "activity"  # "human": only messages and answers do, and no open window
    reminder_intervals_s: tuple[float, ...] = (3600.0, 86400.0)  # after it was asked
    default_provider: str = ""  # empty: claude if it is found, otherwise demo
    default_model: str = ""  # for sessions that name none; empty: the agent's own
    history_keep_s: float = 0.0  # events of closed sessions older than this are removed; 0: never
    database_limit_bytes: int = 10 * 1024 * _MIB  # warned of from 80 % on; past it no new session; 0: none


@dataclass(frozen=True, slots=True)
class LogSettings:
    level: str = "info"
    file: str = ""  # empty: daemon.log in the state directory
    limit_bytes: int = 10 * _MIB  # of one file
    keep: int = 1  # rotated files

    def path(self, usual: Path) -> Path:
        """Return the path of the log."""
        return Path(self.file) if self.file else usual


@dataclass(frozen=True, slots=True)
class ListenSettings:
    """The TCP listener besides the unix socket, and the limits of its clients."""

    address: str = ""  # HOST:PORT; empty: no TCP listener
    health_address: str = ""  # only the health service, unencrypted and without a token; empty: none
    tls_cert: str = ""
    tls_key: str = ""
    token_file: str = ""  # empty: tcp.token in the config directory, made when it is missing
    connection_limit: int = 200
    keepalive_s: float = 30.0  # a silent connection is asked whether it lives
    keepalive_timeout_s: float = 10.0  # and closed when it does not answer
    messages_per_minute: int = 60  # of one session; 0: no limit
    sessions_per_hour: int = 20  # from one address; 0: no limit

    def refuse_in_clear(self) -> None:
        """Raises NotUnderstood where the token would cross a network for everybody to read."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise NotUnderstood("daemon.tls_cert and daemon.tls_key belong together: set both, or neither")
        if self.address and not parse_address(self.address).is_loopback and not self.tls_cert:
            raise NotUnderstood(
                f"daemon.listen {self.address} is beyond loopback and needs TLS: set daemon.tls_cert and daemon.tls_key"
            )


@dataclass(frozen=True, slots=True)
class ObeySettings:
    """The same sessions under their other API, on a separate socket."""

    enabled: bool = True
    socket: str = ""  # empty: the usual one
    start_timeout_s: float = 60.0  # for an agent to be ready
    stop_timeout_s: float = 30.0  # for the current turn to end at a graceful stop


@dataclass(frozen=True, slots=True)
class ObservabilitySettings:
    otlp_endpoint: str = ""  # empty: nothing is exported
    export_interval_s: float = 10.0
    metrics_enabled: bool = False
    metrics_address: str = "127.0.0.1"
    metrics_port: int = 9090


@dataclass(frozen=True, slots=True)
class NotifySettings:
    desktop: bool = False
    command: tuple[str, ...] = ()  # a program and its arguments; the notification is JSON on its stdin
    webhook_url: str = field(default="", repr=False)  # it may carry a secret itself
    webhook_secret_file: str = ""
    occasions: tuple[str, ...] = ("ask", "reminder", "expired")

    def refuse_unsigned(self) -> None:
        """Raise NotUnderstood for a webhook without a secret, which could not recognise our notifications."""
        if self.webhook_url and not self.webhook_secret_file:
            raise NotUnderstood("notify.webhook.url needs notify.webhook.secret_file, a file with the signing key")


@dataclass(frozen=True, slots=True)
class WorktreeSettings:
    """The setup and maintenance of worktrees."""

    setup_commands: tuple[
        tuple[str, ...], ...
    ] = ()  # each a program and its arguments; run in a new worktree, in order
    setup_timeout_s: float = 600.0  # for all of a setup
    setup_environment: tuple[str, ...] = ()  # names of variables that setups get in addition to the usual ones
    bring_along: tuple[str, ...] = ()  # patterns of untracked files that a new worktree gets copies of
    trash_keep_s: float = 30 * 86400.0  # how long a worktree that was removed by force can be restored
    snapshots: bool = True  # of the tree, around each turn
    snapshot_file_limit_bytes: int = 10 * _MIB  # a larger untracked file is omitted


@dataclass(frozen=True, slots=True)
class Settings:
    engine: EngineSettings = field(default_factory=EngineSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    listen: ListenSettings = field(default_factory=ListenSettings)
    observability: ObservabilitySettings = field(default_factory=ObservabilitySettings)
    notify: NotifySettings = field(default_factory=NotifySettings)
    worktree: WorktreeSettings = field(default_factory=WorktreeSettings)
    agents: AgentSettings = field(default_factory=AgentSettings)
    obey: ObeySettings = field(default_factory=ObeySettings)
    feature_flags: Mapping[str, bool] = field(default_factory=dict)
    environment_allow: tuple[str, ...] = ()  # names that sessions inherit in addition to the usual ones
    autostart: Autostart = "ask"  # whether a command that needs a daemon starts one
