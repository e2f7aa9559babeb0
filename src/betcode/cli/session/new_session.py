"""The parameters of a new session from the command line, the environment and the settings."""

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

_USUAL = "claude"  # the provider of the model variable, if the settings name no other


def new_conversation(options: CommandOptions) -> NewConversation:
    """Return the parameters that these options request.

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
        # Another machine has its own paths and keys.
        environment={}
        if options.places.remote is not None
        else session_environment(
            os.environ, (*loaded.settings.environment_allow, *_keys(loaded, kind, config)), (kind,)
        ),
        budget=budget_from(options),
        # Without a directory, the session starts in the repository's active worktree.
        in_active_worktree=not options.text("cwd"),
    )


def _keys(loaded: "Loaded", kind: str, config: Mapping[str, str]) -> tuple[str, ...]:
    """Return the environment variable with the API key, for a provider that takes its name."""
    if kind == "openai":
        return (config.get("api_key_env") or loaded.settings.agents.openai.api_key_env,)
    if kind == "codex":
        from betcode.providers.codex.environment import key_of_provider

        return (key_of_provider(os.environ),)
    return ()


def whole_environment(options: CommandOptions) -> dict[str, str]:
    """Return the environment that sessions of all providers would get, to ask for the state of each provider."""
    if options.places.remote is not None:
        return {}
    loaded = _settings(options)
    keys = (name for kind in OF_KIND for name in _keys(loaded, kind, {}))
    return session_environment(os.environ, (*loaded.settings.environment_allow, *keys), OF_KIND)


async def default_agent(client: Client, options: CommandOptions) -> str:
    """Return the provider of a new session: the daemon chooses it for this environment.

    Raises:
        CommandFailed: the settings cannot be read.
    """
    found = await client.providers("", whole_environment(options), skip_versions=True)
    return next((one.name for one in found if one.is_default), "")


def _settings(options: CommandOptions) -> "Loaded":
    # Imported here: finding an open session does not need it
    from betcode.config.load import WrongSetting, load_settings

    try:
        return load_settings(options.places.config_dir, os.environ)
    except WrongSetting as error:
        raise CommandFailed(str(error), ExitCode.INVALID_ARGUMENTS) from error


def _model_of_environment(loaded: "Loaded") -> str:
    """Return the model of this shell's variable, which overrides all files. The daemon reads the files."""
    from betcode.config.origins import Layer

    is_ours = loaded.origin("sessions.default_model").layer is Layer.ENVIRONMENT
    return loaded.settings.engine.default_model if is_ours else ""
