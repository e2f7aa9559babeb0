"""Replaces unpaired surrogates in text from a server, which nothing else accepts."""

from typing import Any


def whole(text: str) -> str:
    """The same; halves that belong together are put together, and others are replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def all_whole(value: Any) -> Any:
    """A value of JSON, with the text in it made whole."""
    match value:
        case str():
            return whole(value)
        case list() | tuple():
            return [all_whole(each) for each in value]
        case dict():
            return {whole(str(name)): all_whole(each) for name, each in value.items()}
        case _:
            return value
