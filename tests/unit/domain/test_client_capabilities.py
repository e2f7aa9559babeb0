"""What a client says of itself is validated, and what is not known is accepted."""

import pytest

from betcode.domain.errors import InvalidRequest
from betcode.domain.release.client_capabilities import CLIENT_CAPABILITIES, validate_client_capabilities


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        ({"unknown_events": "ignored", "deprecations": "shown"}, []),
        ({"deprecations": "hidden"}, []),
        ({"colour": "many", "later": ""}, []),
        ({"deprecations": "loud"}, ["'loud' and counts as 'shown': send one of shown, hidden"]),
        ({"unknown_events": "refused"}, ["upgrade the client before the daemon"]),
    ],
)
def test_known_names_have_known_values(given: dict[str, str], words: list[str]) -> None:
    warnings = validate_client_capabilities(given)
    assert len(warnings) == len(words)
    assert all(each in warning for each, warning in zip(words, warnings, strict=True))


@pytest.mark.parametrize("given", [{"": "x"}, {"n" * 1001: ""}, {"n": "v" * 1001}, {str(n): "" for n in range(101)}])
def test_what_is_too_much_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="client_capabilities"):
        validate_client_capabilities(given)


def test_every_name_has_a_first_value_to_fall_back_to() -> None:
    assert all(values for values in CLIENT_CAPABILITIES.values())
