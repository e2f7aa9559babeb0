"""`environment.*`: variables that sessions inherit from the client."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

ENVIRONMENT: tuple[Setting, ...] = (
    Setting(
        "environment.allow",
        "environment_allow",
        value_types.names(),
        "additional environment variables that sessions inherit from the client",
    ),
)
