"""Which of several values counts, and where it came from."""

import json
import os
from pathlib import Path

import pytest

from betcode.config.flags import flags_of
from betcode.config.load import Loaded, WrongSetting, load_settings, resolve
from betcode.config.origins import Layer, SettingOrigin
from betcode.config.paths import choose_paths
from betcode.config.projects import in_project, worktrees_in_project
from betcode.config.schema import SETTINGS, Setting
from betcode.config.settings import EngineSettings, Settings, WorktreeSettings

MODEL = "sessions.default_model"


class Files:
    """A user's directory and a project's."""

    def __init__(self, root: Path) -> None:
        self.config_dir = root / "config"
        self.project = root / "project"
        (self.project / ".claude").mkdir(parents=True)
        self.config_dir.mkdir()

    def user(self, values: object) -> None:
        (self.config_dir / "settings.json").write_text(json.dumps(values))

    def shared(self, values: object) -> None:
        (self.project / ".claude/settings.json").write_text(json.dumps(values))

    def local(self, values: object) -> None:
        (self.project / ".claude/settings.local.json").write_text(json.dumps(values))

    def resolve(self, environ: dict[str, str] | None = None, **flags: str) -> Loaded:
        named = {key.replace("__", "."): value for key, value in flags.items()}
        return resolve(self.config_dir, environ, named, self.project)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.behaviour("config.order.flags-first", "config.order.local-project", "config.order.project-over-user")
def test_each_layer_stands_above_the_next(files: Files) -> None:
    flag, variable = {"sessions__default_model": "f"}, {"BETCODE_DEFAULT_MODEL": "e"}
    assert files.resolve().settings.engine.default_model == ""
    assert files.resolve().origin(MODEL) == SettingOrigin()
    files.user({"sessions": {"default_model": "u"}})
    assert str(files.resolve().origin(MODEL)) == f"{files.config_dir}/settings.json:1"
    assert files.resolve().settings.engine.default_model == "u"
    files.shared({"sessions": {"default_model": "p"}})
    assert files.resolve().settings.engine.default_model == "p"
    assert files.resolve().origin(MODEL).layer is Layer.PROJECT
    files.local({"sessions": {"default_model": "l"}})
    assert files.resolve().settings.engine.default_model == "l"
    assert files.resolve(variable).settings.engine.default_model == "e"
    assert str(files.resolve(variable).origin(MODEL)) == "BETCODE_DEFAULT_MODEL"
    assert files.resolve(variable, **flag).settings.engine.default_model == "f"
    assert str(files.resolve(variable, **flag).origin(MODEL)) == f"--set {MODEL}"


def test_a_higher_value_replaces_the_whole_of_a_lower_one(files: Files) -> None:
    files.user({"feature_flags": {"a": True, "b": True}})
    loaded = files.resolve({"BETCODE_FEATURE_FLAGS": '{"b": false}'})
    assert loaded.settings.feature_flags == {"b": False}


def test_a_project_sets_only_what_is_for_projects(files: Files) -> None:
    files.shared({"notify": {"command": ["/bin/evil"]}, "agents.turn_limit": 9, "sessions": {"default_model": "p"}})
    loaded = files.resolve()
    assert (loaded.settings.notify.command, loaded.settings.engine.turn_limit) == ((), 5)
    assert loaded.settings.engine.default_model == "p"
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [
        "notify.command cannot be set by a project and is ignored here",
        "agents.turn_limit cannot be set by a project and is ignored here",
    ]


@pytest.mark.parametrize("key", [setting.key for setting in SETTINGS.values() if not setting.of_project])
def test_nothing_that_could_harm_is_for_projects(key: str, files: Files) -> None:
    """Whatever the value: it is not even looked at."""
    files.local({key: "anything"})
    loaded = files.resolve()
    assert (len(loaded.warnings), loaded.faults, loaded.origins) == (1, (), {})


def test_only_the_model_and_what_sets_up_a_worktree_are_for_projects() -> None:
    assert [setting.key for setting in SETTINGS.values() if setting.of_project] == [
        MODEL,
        "worktree.setup_commands",
        "worktree.setup_timeout",
        "worktree.bring_along",
    ]


_CLAUDES = {
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "model": "opus",
    "env": {"FOO": "bar", "agents.turn_limit": "x"},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]},
    "permissions": {"allow": ["Bash(ls)"], "defaultMode": "plan", "additionalDirectories": ["/x"]},
    "enabledPlugins": {"a@b": True},
    "statusLine": {"type": "command"},
    "sandbox": {"enabled": True, "network": {"allowUnixSockets": []}},
    "cleanupPeriodDays": 20,
    "worktree": {"symlinkDirectories": ["node_modules"]},
}


@pytest.mark.parametrize("layer", ["user", "shared", "local"])
def test_the_keys_of_claude_code_pass_silently(files: Files, layer: str) -> None:
    getattr(files, layer)(_CLAUDES)
    loaded = files.resolve()
    assert (loaded.warnings, loaded.faults, loaded.origins) == ((), (), {})


def test_a_misspelt_key_of_ours_is_a_warning_in_a_project_too(files: Files) -> None:
    files.shared({"sessions": {"default_modl": "x"}, "somebody": {"elses": 1}})
    (warning,) = files.resolve().warnings
    assert warning.endswith("unknown setting sessions.default_modl; did you mean sessions.default_model?")


def test_a_key_in_both_its_forms_is_refused(files: Files) -> None:
    files.user({"agents": {"turn_limit": 3}, "agents.turn_limit": 4})
    with pytest.raises(WrongSetting, match=r"duplicate setting agents\.turn_limit"):
        load_settings(files.config_dir)


# What each kind of value may be in a variable, and what it may not.
_IN_VARIABLES = {
    "agents.turn_limit": ("3", 3, "many"),
    "agents.hang_after": ("90s", 90.0, "soon"),
    "agents.memory_limit": ("2GB", 2_000_000_000, "2 parsecs"),
    "permissions.extend_on_activity": ("false", False, "no"),
    "daemon.log_level": ("debug", "debug", "loud"),
    "environment.allow": ('["GH_TOKEN"]', ("GH_TOKEN",), "GH_TOKEN"),
    "permissions.reminder_intervals": ('["1h"]', (3600.0,), "1h"),
    "notify.command": ('["/bin/tell"]', ("/bin/tell",), '["tell"]'),
    "notify.webhook.secret_file": ("/a/key", "/a/key", "a/key"),
    "observability.otlp_endpoint": ("http://localhost:4318", "http://localhost:4318", "localhost"),
    "feature_flags": ('{"a": true}', {"a": True}, '{"a": 1}'),
    "sessions.default_model": ("3", "3", "a\nb"),
}


@pytest.mark.parametrize("key", _IN_VARIABLES)
def test_a_variable_is_read_and_a_wrong_one_is_named(tmp_path: Path, key: str) -> None:
    text, value, wrong = _IN_VARIABLES[key]
    name = SETTINGS[key].environment_name
    assert SETTINGS[key].value_in(load_settings(tmp_path, {name: text}).settings) == value
    with pytest.raises(WrongSetting) as refused:
        load_settings(tmp_path, {name: wrong})
    assert str(refused.value).startswith(f"{name}: {key} must be ")
    assert "\n" not in str(refused.value)


def test_an_empty_variable_says_nothing(tmp_path: Path) -> None:
    empty = {setting.environment_name: "" for setting in SETTINGS.values()}
    assert load_settings(tmp_path, empty).origins == {}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_default_is_allowed_and_written_as_it_is_read(setting: Setting) -> None:
    assert setting.kind.read(setting.kind.write(setting.default)) == setting.default


def test_what_does_not_go_together_names_where_it_stands(files: Files) -> None:
    files.user({"permissions": {"default_ttl": "2d"}})
    with pytest.raises(WrongSetting) as wrong:
        load_settings(files.config_dir, {"BETCODE_PERMISSIONS_MAX_TTL": "1d"})
    assert str(wrong.value).startswith(f"{files.config_dir}/settings.json, line 1: permissions.default_ttl must be")


def test_a_private_value_is_not_repeated_from_a_variable(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting) as wrong:
        load_settings(tmp_path, {"BETCODE_NOTIFY_WEBHOOK_URL": "ftp://s3cret"})
    assert "s3cret" not in str(wrong.value)


def test_all_faults_are_found_and_the_first_is_told_with_their_number(files: Files) -> None:
    (files.config_dir / "settings.json").write_text('{\n"agents.turn_limit": 0,\n"daemon.log_level": 1\n}')
    loaded = files.resolve({"BETCODE_SUBPROCESS_QUEUE": "x"})
    assert [fault.key for fault in loaded.faults] == ["agents.turn_limit", "daemon.log_level", "agents.queue_limit"]
    with pytest.raises(WrongSetting, match=r"line 2: agents\.turn_limit must .* \(and 1 more: betcode config validate"):
        load_settings(files.config_dir)


def test_a_long_wrong_value_is_cut(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"agents.turn_limit": "x" * 10_000}))
    with pytest.raises(WrongSetting) as wrong:
        load_settings(tmp_path)
    assert len(str(wrong.value)) < 300 + len(str(tmp_path))


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _directory(path: Path) -> None:
    path.mkdir()


def _latin(path: Path) -> None:
    path.write_bytes(b'{\n  "a": "\xe9"\n}')


def _huge(path: Path) -> None:
    path.write_bytes(b" " * (2 * 1024 * 1024 + 1))


def _broken(path: Path) -> None:
    path.write_text('{\n  "agents": {,}\n}')


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_loop, "cannot be read: Too many levels of symbolic links"),
        (_directory, "cannot be read: it is not a regular file"),
        (_latin, "line 2: it is not UTF-8 text"),
        (_huge, "is longer than 2097152 bytes"),
        (_broken, "is not JSON: line 2: a key in double quotes is missing"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(tmp_path: Path, make: object, says: str) -> None:
    path = tmp_path / "settings.json"
    assert callable(make)
    make(path)
    with pytest.raises(WrongSetting) as wrong:
        load_settings(tmp_path)
    assert str(path) in str(wrong.value)
    assert says in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "settings.json").chmod(0)
    with pytest.raises(WrongSetting, match="cannot be read: Permission denied"):
        load_settings(tmp_path)


def test_a_project_that_brings_nonsense_stops_nobody(files: Files) -> None:
    (files.project / ".claude/settings.json").write_text("{")
    (files.project / ".claude/settings.local.json").mkdir()
    engine = EngineSettings(default_model="mine")
    assert in_project(engine, str(files.project), frozenset()) == engine


def test_a_wrong_value_in_a_project_is_told_to_who_starts_there(files: Files) -> None:
    files.shared({"sessions": {"default_model": 3}})
    with pytest.raises(WrongSetting, match=r"settings\.json, line 1: sessions\.default_model must be a text, not 3"):
        in_project(EngineSettings(), str(files.project), frozenset())
    assert in_project(EngineSettings(), str(files.project), frozenset({MODEL})) == EngineSettings()


def test_flags_are_keys_and_values() -> None:
    assert flags_of(["agents.turn_limit=3", "sessions.default_model=a=b"]) == {
        "agents.turn_limit": "3",
        "sessions.default_model": "a=b",
    }
    for word in ("agents.turn_limit", "agents.turn_limits=3"):
        with pytest.raises(WrongSetting):
            flags_of([word])


@pytest.mark.behaviour("config.dir.env")
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_variable_names_the_config_directory_everywhere(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", platform)
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "BETCODE_CONFIG_DIR": "/mine"}
    assert choose_paths(environ).config_dir == Path("/mine")


@pytest.mark.behaviour("config.dir.linux")
def test_on_linux_the_config_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert choose_paths({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}).config_dir == Path("/x/betcode")
    assert choose_paths({"HOME": "/h"}).config_dir == Path("/h/.config/betcode")


@pytest.mark.behaviour("config.dir.macos")
def test_on_macos_the_config_directory_is_in_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert choose_paths({"HOME": "/h"}).config_dir == Path("/h/Library/Application Support/betcode")


def test_a_project_says_how_its_worktrees_are_set_up_and_not_what_they_see(files: Files) -> None:
    files.user({"worktree": {"setup_commands": ["mine"], "bring_along": [".env"]}})
    theirs = {"setup_commands": ["theirs --all"], "setup_timeout": "5s", "setup_environment": ["AWS_PROFILE"]}
    files.shared({"worktree": theirs})
    user_file = files.config_dir / "settings.json"
    running = Settings(worktree=WorktreeSettings(setup_commands=(("older",),)))

    there = worktrees_in_project(running, str(files.project), frozenset(), user_file)
    assert (there.setup_commands, there.setup_timeout_s) == ((("theirs", "--all"),), 5.0)
    assert (there.bring_along, there.setup_environment) == ((".env",), ())
    assert worktrees_in_project(running, "", frozenset(), user_file).setup_commands == (("mine",),)
    fixed = frozenset({"worktree.setup_commands"})
    assert worktrees_in_project(running, str(files.project), fixed, user_file).setup_commands == (("older",),)
