"""Every key of the screen in one table: what it does, where, and the words that the help has for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from textual.binding import Binding, BindingType


class KeyContext(Enum):
    """Where a key counts; the value is its heading in the help."""

    APP = "Everywhere"
    SESSION = "In a session"
    WRITING = "Where you write"
    READING = "In the conversation"
    CARDS = "On a card"
    SESSIONS = "In the list of sessions"
    INBOX = "In the inbox"


@dataclass(frozen=True, slots=True)
class Key:
    """Several keys that do the same are separated by commas; without an action the widget there heeds them itself."""

    keys: str
    words: str
    action: str = ""
    has_priority: bool = False  # before whatever has the focus
    shown: str = ""  # where the names of the keys would say less


KEYS: dict[KeyContext, tuple[Key, ...]] = {
    KeyContext.APP: (
        Key("f1", "this help; also ? on an empty draft", "help", has_priority=True),
        Key("ctrl+q", "leave; agents go on", "leave", has_priority=True),
        Key("ctrl+z", "set aside, until fg", "suspend_process", has_priority=True),
        Key("f2", "next theme", "next_theme", has_priority=True),
    ),
    KeyContext.SESSION: (
        Key("escape", "interrupt the turn; press again to force", "cancel"),
        Key("ctrl+s", "list of sessions", "app.sessions", has_priority=True),
        Key("ctrl+o", "inbox: all that waits for you", "app.inbox", has_priority=True),
        Key("ctrl+f", "search in all sessions", "app.search", has_priority=True),
        Key("ctrl+n", "new session here", "app.new_session", has_priority=True),
        Key("ctrl+x", "menu of this session", "app.menu", has_priority=True),
        Key("ctrl+t", "todos and plan", "panels", has_priority=True),
        Key("ctrl+l", "take over typing from another terminal", "lock", has_priority=True),
        Key(
            ",".join(f"alt+{number}" for number in range(1, 10)),
            "the session of that number",
            "app.numbered",
            has_priority=True,
            shown="Alt+1…9",
        ),
        Key("alt+left", "session before", "app.beside(-1)", has_priority=True),
        Key("alt+right", "session after", "app.beside(1)", has_priority=True),
        Key("tab", "switch the focus: input, card, conversation", "next_place"),
        Key("ctrl+c", "copy what is marked, or clear the draft; twice leaves", "interrupt", has_priority=True),
        Key("ctrl+d", "leave, on an empty draft", "leave_empty", has_priority=True),
        # Without priority: whether the draft is empty is known when the keys before this one are written there.
        Key("question_mark", "help, on an empty draft", "help_empty"),
    ),
    KeyContext.WRITING: (
        Key("enter", "send"),
        Key("ctrl+j,shift+enter,alt+enter", "new line"),
        Key("backslash", "new line, at the end of a line before Enter", shown="\\"),
        Key("up,down", "history, on the first and last line; ↑ edits queued messages first"),
        Key("ctrl+r", "search earlier messages"),
        Key("@", "a file"),
        Key("/", "a command; // where agent and screen both have it"),
        Key("ctrl+v", "the image in the clipboard"),
        Key("alt+p", "what was pasted, as text"),
        Key("backspace", "before the first letter: the last attachment goes"),
        Key("ctrl+e", "write in your editor (VISUAL, EDITOR)"),
        Key("alt+z", "undo"),
        Key("pageup,pagedown", "scroll the conversation"),
        Key("ctrl+home,ctrl+end", "its beginning and end"),
    ),
    KeyContext.READING: (
        Key("up,down", "choose a piece"),
        Key("enter,space", "open or fold it"),
        Key("o", "open or fold all"),
        Key("y,ctrl+y", "copy it"),
        Key("v", "read the whole of it"),
        Key("pageup,pagedown", "scroll"),
        Key("home,end", "beginning and end"),
        Key("escape", "write again, where nothing runs; other letters do too"),
    ),
    KeyContext.CARDS: (
        Key("y", "allow once"),
        Key("a", "allow always; 1-9 says what"),
        Key("n", "deny"),
        Key("d", "deny with a reason"),
        Key("s", "deny and stop the turn"),
        Key("e", "edit, then allow"),
        Key("v", "see the whole input"),
        Key("1…9,space", "choose an answer"),
        Key("t", "own words, or a pattern of your own"),
        Key("left,right", "another card"),
        Key("escape", "back to the draft"),
    ),
    KeyContext.SESSIONS: (
        Key("escape", "back", "close_list"),
        Key("tab", "from finding to the list, where the keys below count"),
        Key("n", "new session here", "new"),
        Key("r", "rename", "session_action('rename')"),
        Key("f", "fork", "session_action('fork')"),
        Key("x", "export to a file", "session_action('export')"),
        Key("c", "close", "session_action('close')"),
        Key("d", "delete", "session_action('delete')"),
    ),
    KeyContext.INBOX: (
        Key("enter", "go to the session"),
        Key("tab", "to the card and back; its keys count in both places"),
        Key("escape", "back"),
    ),
}

# What can also be written in place of a message, and the action it stands for.
COMMANDS = {
    "help": "app.help",
    "sessions": "app.sessions",
    "inbox": "app.inbox",
    "new": "app.new_session",
    "theme": "app.next_theme",
    "quit": "app.leave",
    "cancel": "screen.cancel",
    "lock": "screen.lock",
}


def bindings(place: KeyContext) -> list[BindingType]:
    """What Textual is told of the keys of a place."""
    return [
        Binding(
            each,
            f"{key.action}({each[-1]})" if key.action == "app.numbered" else key.action,
            key.words,
            priority=key.has_priority,
        )
        for key in KEYS[place]
        if key.action
        for each in key.keys.split(",")
    ]


_NAMES = {
    "escape": "Esc",
    "question_mark": "?",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def shown(key: Key) -> str:
    """Its keys as they stand on a keyboard."""
    return key.shown or " ".join(_shown(each) for each in key.keys.split(","))


def _shown(name: str) -> str:
    parts = [_NAMES.get(part, part) for part in name.split("+")] if name != "+" else [name]
    return "+".join(part[:1].upper() + part[1:] if len(parts) > 1 or len(part) > 1 else part for part in parts)


def table() -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    """For the help and docs/screen.md: headings, each with its keys and what they do."""
    return [(place.value, [(shown(key), key.words) for key in keys]) for place, keys in KEYS.items() if keys]
