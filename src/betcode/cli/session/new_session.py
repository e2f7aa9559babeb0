"""What a new session is made with, from the command line, the environment and the settings."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.budget_arguments import budget_from
from betcode.client import OF_KIND, Client, NewConversation, session_environment
from betcode.domain.agents.provider_config import PREFIX

if TYPE_CHECKING:
    from betcode.config.load import Loaded

_USUAL = "claude"  # whose models the variable for them names, where the settings name no other kind


def new_conversation(options: CommandOptions) -> NewConversation:
    """The session that these options ask for.

    Raises:
        CommandFailed: the settings cannot be read, or there is no working directory.
    """
    loaded = _settings(options)
    default = loaded.settings.engine.default_provider
    kind = options.text("provider") or default
    config = dict(options.pairs("config"))
    return NewConversation(
        working_directory=working_directory(options),
        provider=options.text("provider"),
        model=options.text("model") or (_model_of_environment(loaded) if kind in (default, _USUAL) else ""),
        metadata={PREFIX + key: value for key, value in config.items()},
        allowed_tools=options.texts("allowed_tools"),
        plan_mode=options.flag("plan"),
        # Another machine has paths and keys of its own.
        environment={}
        if options.places.remote is not None
        else session_environment(
            os.environ, (*loaded.settings.environment_allow, *_keys(loaded, kind, config)), (kind,)
        ),
        budget=budget_from(options),
        # Who names no place is where the repository's active worktree is.
        in_active_worktree=not options.text("cwd"),
    )


def _keys(loaded: "Loaded", kind: str, config: Mapping[str, str]) -> tuple[str, ...]:
    """The variable with the key of an API that somebody named, for the kind of agent that asks for it by name."""
    if kind == "openai":
        return (config.get("api_key_env") or loaded.settings.agents.openai.api_key_env,)
    if kind == "codex":
        from betcode.providers.codex.environment import key_of_provider

        return (key_of_provider(os.environ),)
    return ()


def whole_environment(options: CommandOptions) -> dict[str, str]:
    """What sessions of any kind from here would have between them; to ask how each kind stands."""
    if options.places.remote is not None:
        return {}
    loaded = _settings(options)
    keys = (name for kind in OF_KIND for name in _keys(loaded, kind, {}))
    return session_environment(os.environ, (*loaded.settings.environment_allow, *keys), OF_KIND)


async def default_agent(client: Client, options: CommandOptions) -> str:
    """The kind of agent that a new session from here gets: the daemon decides, for the environment that we have.

    Raises:
        CommandFailed: the settings cannot be read.
    """
    found = await client.providers("", whole_environment(options), skip_versions=True)
    return next((one.name for one in found if one.is_default), "")


def _settings(options: CommandOptions) -> "Loaded":
    from betcode.config.load import WrongSetting, load_settings  # an open session is found without them

    try:
        return load_settings(options.places.config_dir, os.environ)
    except WrongSetting as error:
        raise CommandFailed(str(error), ExitCode.INVALID_ARGUMENTS) from error


def _model_of_environment(loaded: "Loaded") -> str:
    """The variable of this shell stands above all files; those are looked at by the daemon, for every client."""
    from betcode.config.origins import Layer

    is_ours = loaded.origin("sessions.default_model").layer is Layer.ENVIRONMENT
    return loaded.settings.engine.default_model if is_ours else ""
