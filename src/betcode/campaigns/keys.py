"""Keys of providers from the file that obey's daemon has them in; they go to agents and into no log."""

import logging
from collections.abc import Mapping
from pathlib import Path

from betcode.campaigns.yaml_file import WrongYaml, read_yaml
from betcode.providers.specs import SPECS
from betcode.util.user import home_directory

logger = logging.getLogger(__name__)


def keys_path(environ: Mapping[str, str]) -> Path:
    configs = Path(environ.get("XDG_CONFIG_HOME", ""))
    base = configs if configs.is_absolute() else home_directory(environ) / ".config"
    return base / "obey" / "daemon.yaml"


def provider_keys(environ: Mapping[str, str], provider: str) -> dict[str, str]:
    """The variables with the keys of a provider, as `api_keys` of the file has them. It may block, and never raises."""
    spec = SPECS.get(provider)
    if spec is None or spec.api_key is None:
        return {}
    path = keys_path(environ)
    try:
        said = read_yaml(path)
    except WrongYaml:  # its words could contain part of a key
        logger.warning("%s cannot be read as YAML: no keys are taken from it", path)
        return {}
    key = said.get(f"api_keys.{spec.api_key.name}", "").strip()
    return {spec.api_key.variable: key} if key and key.isprintable() else {}
