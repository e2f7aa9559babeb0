"""Every setting, declared once: its key, the field it fills, what is allowed, what it means."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from betcode.config import kinds
from betcode.config.addresses import loopback
from betcode.config.kinds import Kind
from betcode.config.notifying import command_line, occasions, place, web_address
from betcode.config.settings import Settings
from betcode.config.tcp_address import listen_address

_MIB = 1024 * 1024
_DAY_S = 86400.0
_SHORTEST_TTL_S = 3600.0
_LONGEST_TTL_S = 30 * _DAY_S

# Rules stand in the same files; `betcode.rules` reads them, anew whenever a file changes.
RULE_LISTS = frozenset({"permissions.allow", "permissions.ask", "permissions.deny"})


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    field: str  # in Settings, with dots
    kind: Kind
    help: str
    variable: str = ""  # in the environment; empty: made from the key
    at_once: bool = True  # a running daemon that reads the files again uses it; otherwise the next one does
    is_private: bool = False  # its value is not repeated anywhere
    of_project: bool = False  # a project's own settings may set it too, for sessions that start there

    @property
    def environment_name(self) -> str:
        return self.variable or "BETCODE_" + self.key.upper().replace(".", "_")

    @property
    def default(self) -> object:
        return self.value_in(Settings())

    def value_in(self, settings: Settings) -> object:
        return attrgetter(self.field)(settings)


def _table(settings: Iterable[Setting]) -> Mapping[str, Setting]:
    return {setting.key: setting for setting in settings}


SETTINGS: Mapping[str, Setting] = _table(
    (
        Setting(
            "agents.turn_limit",
            "engine.turn_limit",
            kinds.whole(1, 1000),
            "turns at work at once; a turn that waits for a person does not count",
            "BETCODE_MAX_SUBPROCESSES",
        ),
        Setting(
            "agents.queue_limit",
            "engine.queue_limit",
            kinds.whole(0, 10_000),
            "turns that wait in line; 0 refuses at once",
            "BETCODE_SUBPROCESS_QUEUE",
        ),
        Setting(
            "agents.hang_after",
            "engine.hang_after_s",
            kinds.duration(1.0),
            "an agent in a turn that writes nothing at all for so long is ended and started again; not while a person "
            "or the model's API is waited for",
            "BETCODE_SUBPROCESS_TIMEOUT",
        ),
        Setting(
            "agents.idle_retire",
            "engine.idle_retire_s",
            kinds.duration(),
            "an idle agent is ended after this and started again when wanted; one with background work never",
        ),
        Setting(
            "agents.warm_limit",
            "engine.warm_limit",
            kinds.whole(0),
            "idle agents that are kept at all; past it the longest idle is ended",
        ),
        Setting(
            "agents.memory_limit",
            "engine.agent_memory_limit_bytes",
            kinds.size(_MIB),
            "of all live agents together; the longest idle is retired first",
        ),
        Setting(
            "agents.frame_limit",
            "engine.frame_limit_bytes",
            kinds.size(64 * 1024),
            "the longest line an agent may write",
            at_once=False,
        ),
        Setting(
            "agents.message_limit",
            "engine.message_limit_bytes",
            kinds.size(1024),
            "the longest message",
            "BETCODE_MAX_PAYLOAD_BYTES",
            at_once=False,
        ),
        Setting(
            "agents.attachment_limit",
            "engine.attachment_limit_bytes",
            kinds.size(),
            "the largest attachment; all of one message have 20 MiB at most",
            at_once=False,
        ),
        Setting(
            "agents.default_provider",
            "engine.default_provider",
            kinds.text(),
            "`claude` or `demo`; empty: claude where it is found",
            at_once=False,
        ),
        Setting(
            "cancel.interrupt",
            "engine.cancel_interrupt_s",
            kinds.duration(0, 600),
            "how long an agent may take to stop its turn before it gets SIGINT",
        ),
        Setting("cancel.sigint", "engine.cancel_sigint_s", kinds.duration(0, 600), "then before SIGTERM"),
        Setting(
            "cancel.term",
            "engine.cancel_term_s",
            kinds.duration(0, 600),
            "then before it is killed with everything it started",
        ),
        Setting(
            "cancel.insist",
            "engine.cancel_insist_s",
            kinds.duration(0, 600),
            "a cancel so long after the last step takes the next at once; sooner, it is the same cancel said twice",
        ),
        Setting(
            "sessions.default_model",
            "engine.default_model",
            kinds.text(),
            "the model of sessions that name none; empty: the agent's own choice",
            "BETCODE_DEFAULT_MODEL",
            of_project=True,
        ),
        Setting(
            "sessions.auto_compact_threshold",
            "engine.auto_compact_threshold",
            kinds.whole(0),
            "after a turn that left more tokens than this in the agent's context, it is compacted; 0: never",
        ),
        Setting(
            "sessions.lock_answer",
            "engine.lock_answer_s",
            kinds.duration(),
            "how long the holder of an input lock has to answer who asks for it",
        ),
        Setting(
            "sessions.lock_idle",
            "engine.lock_idle_s",
            kinds.duration(),
            "how long a holder may send nothing before the lock goes to who waits for it",
        ),
        Setting(
            "sessions.history_keep",
            "engine.history_keep_s",
            kinds.duration(),
            "how long the history of a closed session is kept; 0: for ever",
        ),
        Setting(
            "permissions.screen_all",
            "engine.screen_all",
            kinds.one_of("auto", "always", "never"),
            "whether an agent shows every use of a tool before its own rules decide: `always`, `never`, or where any "
            "rule denies or asks ([rules.md](rules.md)); for agents started from then on",
        ),
        Setting(
            "permissions.default_ttl",
            "engine.permission_ttl_s",
            kinds.duration(),
            "how long a prompt waits without any activity; then it is denied softly. Between the next two",
        ),
        Setting(
            "permissions.min_ttl",
            "engine.permission_min_ttl_s",
            kinds.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
            "the least that may be set",
        ),
        Setting(
            "permissions.max_ttl",
            "engine.permission_max_ttl_s",
            kinds.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
            "the most that may be set",
        ),
        Setting(
            "permissions.extend_on_activity",
            "engine.extend_on_activity",
            kinds.yes_or_no(),
            "activity in a session gives its open prompts all their time again",
        ),
        Setting(
            "permissions.extend_on",
            "engine.extend_on",
            kinds.one_of("activity", "human"),
            "`human`: only messages and answers count, not a client that attaches or stays attached",
        ),
        Setting(
            "permissions.reminder_intervals",
            "engine.reminder_intervals_s",
            kinds.ascending_durations(),
            "when to remind, counted from the question",
        ),
        Setting(
            "notify.desktop", "notify.desktop", kinds.yes_or_no(), "notify with `notify-send`, on macOS `osascript`"
        ),
        Setting(
            "notify.command",
            "notify.command",
            command_line(),
            "a program with its whole path, and arguments, as a list; gets the notification as JSON on stdin",
        ),
        Setting(
            "notify.webhook.url",
            "notify.webhook_url",
            web_address(),
            "where the same JSON is posted",
            is_private=True,
        ),
        Setting(
            "notify.webhook.secret_file",
            "notify.webhook_secret_file",
            place(),
            "the file with the key that signs it; needed with a URL",
        ),
        Setting("notify.on", "notify.occasions", occasions(), "what is told"),
        Setting(
            "journals.keep",
            "engine.journal_keep_s",
            kinds.duration(),
            "how long journals of ended agents are kept, compressed",
        ),
        Setting("journals.limit", "engine.journal_limit_bytes", kinds.size(), "and how much of them"),
        Setting(
            "daemon.autostart",
            "autostart",
            kinds.one_of("ask", "always", "never"),
            "whether a command that needs a daemon starts one: `ask` asks on a terminal and starts it in scripts",
        ),
        Setting(
            "daemon.memory_limit",
            "engine.memory_limit_bytes",
            kinds.size(_MIB),
            "of the daemon itself; past 80 % of it the longest idle agent's session is compacted, once each time",
        ),
        Setting(
            "daemon.database_limit",
            "engine.database_limit_bytes",
            kinds.size(),
            "of the database; warned of from 80 % on, and past it no session is made and no message taken; 0: none",
        ),
        Setting(
            "daemon.durability",
            "engine.durability",
            kinds.one_of("normal", "full"),
            "`full`: not even a power cut takes the last second",
            at_once=False,
        ),
        Setting(
            "daemon.log_level",
            "logs.level",
            kinds.one_of("error", "warn", "info", "debug", "trace"),
            "`error`, `warn`, `info`, `debug`, `trace`",
            "BETCODE_LOG_LEVEL",
        ),
        Setting("daemon.log_file", "logs.file", place(), "where the log is, in place of `daemon.log`", at_once=False),
        Setting(
            "daemon.log_limit",
            "logs.limit_bytes",
            kinds.size(64 * 1024),
            "size of one log file",
            at_once=False,
        ),
        Setting("daemon.log_keep", "logs.keep", kinds.whole(0, 100), "older log files that are kept", at_once=False),
        Setting(
            "daemon.listen",
            "listen.address",
            listen_address(),
            "listen on TCP too, at `HOST` or `HOST:PORT`; the port is 50051 where none is named",
            "BETCODE_LISTEN",
            at_once=False,
        ),
        Setting(
            "daemon.health_listen",
            "listen.health_address",
            listen_address(),
            "the standard health service alone at another address, without token or TLS, for probes that can neither",
            at_once=False,
        ),
        Setting(
            "daemon.tls_cert",
            "listen.tls_cert",
            place(),
            "the certificate (PEM, with its chain); needed to listen beyond loopback",
            at_once=False,
        ),
        Setting("daemon.tls_key", "listen.tls_key", place(), "its private key", at_once=False),
        Setting(
            "daemon.token_file",
            "listen.token_file",
            place(),
            "the token that TCP clients show; by default `tcp.token` in the config directory, made when it is missing",
            at_once=False,
        ),
        Setting(
            "daemon.connection_limit",
            "listen.connection_limit",
            kinds.whole(1, 1000),
            "TCP connections at once",
            at_once=False,
        ),
        Setting(
            "daemon.keepalive",
            "listen.keepalive_s",
            kinds.duration(1.0, 3600.0),
            "a silent TCP connection is asked whether it lives",
            at_once=False,
        ),
        Setting(
            "daemon.keepalive_timeout",
            "listen.keepalive_timeout_s",
            kinds.duration(1.0, 600.0),
            "and given up when it does not answer for so long",
            at_once=False,
        ),
        Setting(
            "rate_limit.messages_per_minute",
            "listen.messages_per_minute",
            kinds.whole(0),
            "messages to one session by TCP clients; 0: no limit",
        ),
        Setting(
            "rate_limit.sessions_per_hour",
            "listen.sessions_per_hour",
            kinds.whole(0),
            "new sessions from one TCP address; 0: no limit",
        ),
        Setting(
            "observability.otlp_endpoint",
            "observability.otlp_endpoint",
            web_address(),
            "where traces and metrics are sent by OTLP; empty: nothing is sent",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            at_once=False,
        ),
        Setting(
            "observability.export_interval",
            "observability.export_interval_s",
            kinds.duration(0.1, 3600.0),
            "how often they are sent",
            at_once=False,
        ),
        Setting(
            "observability.metrics_enabled",
            "observability.metrics_enabled",
            kinds.yes_or_no(),
            "serve metrics for Prometheus",
            at_once=False,
        ),
        Setting(
            "observability.metrics_address",
            "observability.metrics_address",
            loopback(),
            "where that listens",
            at_once=False,
        ),
        Setting(
            "observability.metrics_port",
            "observability.metrics_port",
            kinds.whole(0, 65535),
            "and on which port; 0: any that is free",
            at_once=False,
        ),
        Setting(
            "feature_flags",
            "feature_flags",
            kinds.switches(),
            "features turned on or off against their default: `betcode features` lists them",
        ),
        Setting(
            "environment.allow",
            "environment_allow",
            kinds.names(),
            "further names that sessions inherit from the client",
        ),
    )
)
