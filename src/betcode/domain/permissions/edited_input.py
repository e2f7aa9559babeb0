"""A tool input that a person edited before allowing the call."""

from collections.abc import Mapping

_MAIN = ("command", "file_path", "notebook_path", "url", "query", "pattern")  # fields that a tool requires


def missing_field(own: Mapping[str, object], edited: Mapping[str, object]) -> str | None:
    """Return the name of a required text that the edited input lacks or that is empty; None: there is none."""
    for name in _MAIN:
        text = edited.get(name)
        if isinstance(own.get(name), str) and not (isinstance(text, str) and text.strip()):
            return name
    return None
