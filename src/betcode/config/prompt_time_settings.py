"""Check that the settings of prompt times are consistent."""

from betcode.config.units import NotUnderstood
from betcode.domain.values.times import short_duration


def refuse_wrong_ttl(ttl_s: float, min_s: float, max_s: float) -> None:
    """Raises NotUnderstood, one sentence, where the time is not between its bounds."""
    if not min_s <= ttl_s <= max_s:
        raise NotUnderstood(
            f"permissions.default_ttl must be from {short_duration(min_s)} to {short_duration(max_s)}, "
            f"not {short_duration(ttl_s)}"
        )
