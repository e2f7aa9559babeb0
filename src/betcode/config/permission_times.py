"""Settings of how long prompts wait."""

from betcode.config.units import NotUnderstood, duration_s
from betcode.domain.times import short_duration

SHORTEST_TTL_S = 3600.0
LONGEST_TTL_S = 30 * 86400.0


def is_so(value: object) -> bool:
    """True or false.

    Raises:
        NotUnderstood
    """
    if not isinstance(value, bool):
        raise NotUnderstood("true or false")
    return value


def durations(value: object) -> tuple[float, ...]:
    """Ascending durations, such as ["1h", "24h"]; none is an empty list.

    Raises:
        NotUnderstood
    """
    hint = 'a list of at most 20 durations, each longer than the one before, such as ["1h", "24h"]'
    if not isinstance(value, list) or len(value) > 20:
        raise NotUnderstood(hint)
    try:
        read = tuple(duration_s(each) for each in value)
    except NotUnderstood:
        raise NotUnderstood(hint) from None
    if any(later <= sooner for sooner, later in zip((0.0, *read), read, strict=False)):
        raise NotUnderstood(hint)
    return read


def refuse_wrong_ttl(ttl_s: float, min_s: float, max_s: float) -> None:
    """Raises NotUnderstood, one sentence, where the three do not go together."""
    allowed = f"from {short_duration(SHORTEST_TTL_S)} to {short_duration(LONGEST_TTL_S)}"
    for name, seconds in (("min_ttl", min_s), ("max_ttl", max_s)):
        if not SHORTEST_TTL_S <= seconds <= LONGEST_TTL_S:
            raise NotUnderstood(f"permissions.{name} must be {allowed}, not {short_duration(seconds)}")
    if not min_s <= ttl_s <= max_s:
        raise NotUnderstood(
            f"permissions.default_ttl must be from {short_duration(min_s)} to {short_duration(max_s)}, "
            f"not {short_duration(ttl_s)}"
        )
