"""The parameters of a new session from the command line, the environment and the settings."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.budget_arguments import budget_from
from betcode.client import Client, NewConversation, session_environment
from betcode.domain.agents.provider_config import PREFIX
from betcode.providers.specs import DEFAULT, SPECS

if TYPE_CHECKING:
    from betcode.config.load import Loaded


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
        model=options.text("model") or (_model_of_environment(loaded) if kind in (default, DEFAULT.name) else ""),
        metadata={PREFIX + key: value for key, value in config.items()},
        allowed_tools=options.texts("allowed_tools"),
        plan_mode=options.flag("plan"),
        # Another machine has its own paths and keys.
        environment={}
        if options.paths.remote is not None
        else session_environment(
            os.environ, (*loaded.settings.environment_allow, *_keys(loaded, kind, config)), (kind,)
        ),
        budget=budget_from(options),
        # Without a directory, the session starts in the repository's active worktree.
        in_active_worktree=not options.text("cwd"),
    )


def _keys(loaded: "Loaded", kind: str, config: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables with API keys that the provider's own configuration names."""
    spec = SPECS.get(kind)
    if spec is None or spec.key_variables is None:
        return ()
    return spec.key_variables(loaded.settings.agents.by_provider.get(kind), config, os.environ)


def whole_environment(options: CommandOptions) -> dict[str, str]:
    """Return the environment that sessions of all providers would get, to ask for the state of each provider."""
    if options.paths.remote is not None:
        return {}
    loaded = _settings(options)
    keys = (name for kind in SPECS for name in _keys(loaded, kind, {}))
    return session_environment(os.environ, (*loaded.settings.environment_allow, *keys), SPECS)


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
        return load_settings(options.paths.config_dir, os.environ)
    except WrongSetting as error:
        raise CommandFailed(str(error), ExitCode.INVALID_ARGUMENTS) from error


def _model_of_environment(loaded: "Loaded") -> str:
    """Return the model of this shell's variable, which overrides all files. The daemon reads the files."""
    from betcode.config.origins import Layer

    is_ours = loaded.origin("sessions.default_model").layer is Layer.ENVIRONMENT
    return loaded.settings.engine.default_model if is_ours else ""
