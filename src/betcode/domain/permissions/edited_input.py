"""A tool input that a person edited before allowing the call."""

from collections.abc import Mapping

_MAIN = ("command", "file_path", "notebook_path", "url", "query", "pattern")  # what a tool does not run without


def missing_field(own: Mapping[str, object], edited: Mapping[str, object]) -> str | None:
    """The name of a text that the tool is about and that the edited input lacks, or has nothing in; None: none."""
    for name in _MAIN:
        text = edited.get(name)
        if isinstance(own.get(name), str) and not (isinstance(text, str) and text.strip()):
            return name
    return None
