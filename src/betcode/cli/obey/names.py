"""Names of providers and statuses, and their numbers in the API.

The numbers are written out: the parser needs these names and must not import the generated code.
"""

from collections.abc import Mapping
from operator import itemgetter

from betcode.providers.specs import DEFAULT, SPECS

# By number, as the API declares them.
PROVIDERS: Mapping[str, int] = dict(
    sorted(((spec.obey_name, spec.obey_number) for spec in SPECS.values() if spec.obey_name), key=itemgetter(1))
)
# betcode's own names, where they differ.
ALSO: Mapping[str, str] = {
    spec.name: spec.obey_name for spec in SPECS.values() if spec.obey_name not in ("", spec.name)
}
# The names of profiles, each with the provider that has the profile.
PROFILES: Mapping[str, str] = {spec.name: spec.profile_of for spec in SPECS.values() if spec.profile_of}
DEFAULT_PROVIDER = DEFAULT.obey_name
STATUSES: Mapping[str, int] = {
    "created": 1,
    "starting": 2,
    "running": 3,
    "working": 4,
    "stopping": 5,
    "stopped": 6,
    "failed": 7,
}
ACTIVITIES: Mapping[str, int] = {
    "thinking": 1,
    "tool_call": 2,
    "tool_result": 3,
    "completion": 4,
    "error": 5,
    "status": 6,
}


def name_of(number: int, names: Mapping[str, int]) -> str:
    """Return the name; the number itself if a later daemon sends an unknown one; empty for 0."""
    found = next((name for name, each in names.items() if each == number), "")
    return found or (str(number) if number else "")
