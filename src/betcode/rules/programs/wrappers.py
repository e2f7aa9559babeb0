"""Programs that start other programs: what `timeout 5 git push`, `bash -c '…'` and `find -exec` run."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from betcode.rules.syntax.commands import Assignment, CommandKind, CommandNode, SimpleCommand, Word, names

Inside = Callable[[str], tuple[CommandNode, ...] | None]
_DIRECTORIES: Final = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=.*", re.DOTALL | re.ASCII)
_MORE = Word("$@", None, False)  # arguments that come from another source
NESTED = 8  # wrappers in wrappers


@dataclass(frozen=True, slots=True)
class _Wrapper:
    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()  # options whose value is the next word, or follows in the same word
    operands: int = 0  # its own words before the command
    kind: CommandKind = CommandKind.THROUGH
    sets: bool = False  # NAME=value may precede the command
    appends: bool = False  # adds arguments


def _wrapper(flags: str = "", valued: str = "", **rest: object) -> _Wrapper:
    return _Wrapper(frozenset(flags.split()), frozenset(valued.split()), **rest)  # type: ignore[arg-type]


WRAPPERS: Final[Mapping[str, _Wrapper]] = {
    "timeout": _wrapper("-v --verbose --foreground --preserve-status", "-k -s --kill-after --signal", operands=1),
    "time": _wrapper("-p", sets=True),  # a shell keyword
    "nice": _wrapper("", "-n --adjustment"),
    "nohup": _wrapper(),
    "stdbuf": _wrapper("", "-i -o -e --input --output --error"),
    "command": _wrapper("-p"),
    "builtin": _wrapper(),
    "exec": _wrapper(),
    "noglob": _wrapper(),
    "env": _wrapper("-i - --ignore-environment -0 --null", "-u --unset", sets=True),
    "xargs": _wrapper(
        "-0 -r -t -x --null --no-run-if-empty --verbose --exit -o --open-tty",
        "-n -P -L -d -E -s -I --max-args --max-procs --max-lines --delimiter --replace --max-chars",
        appends=True,
    ),
    "sudo": _wrapper(
        "-n -E -H -k -b -S --non-interactive --preserve-env --set-home",
        "-u -g -p --user --group",
        kind=CommandKind.BOTH,
        sets=True,
    ),
}  # fmt: skip
# Not a command's name, neither in bash nor in zsh.
RESERVED: Final = names(
    "! [[ ]] { } case do done elif else esac fi for foreach function if in nocorrect repeat select then "
    "until while always end -"
)
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "mksh", "rbash"})
# They start the program that their arguments name, in ways that are not followed here.
_OPAQUE: Final = names(
    "abduco alacritty alias arch asciinema at autoload batch bind bpftrace busybox bwrap caffeinate capsh catatonit "
    "catchsegv cgexec choom chpst chronic chroot chrt compgen complete coproc coreutils cpulimit crontab crun csh "
    "daemonize dbus-launch dbus-run-session dc direnv doas dtach dtrace dtruss dumb-init eatmydata ed emulate enable "
    "entr envdir expect fakechroot fakeroot faketime fc firejail fish flock functions gdb gnome-terminal gosu hash "
    "heaptrack hyperfine i386 ifne inetd ionice kitty konsole lckdo ld-linux-aarch64.so.1 ld-linux-x86-64.so.2 ld- "
    "linux.so.2 ld.so libfaketime linux32 linux64 lldb ltrace lxc-attach machinectl mapfile memusage mispipe newgrp "
    "nodemon noti nsenter numactl openvt parallel pee perf pidproxy pkexec prlimit proot proxychains proxychains4 "
    "readarray reptyr rexec rlogin rlwrap rr rsh run-parts run0 runc runcon runsv runuser s6-setuidgid s6-tcpserver "
    "sched screen script scriptlive scriptreplay sem setarch setlock setpgid setpriv setsid setuidgid sg socat "
    "softlimit ssh-agent sshpass start-stop-daemon strace su su-exec systemd-inhibit systemd-nspawn systemd-run "
    "taskset tcpserver tcsh timelimit tini tmux torify torsocks toybox tsp ttyrec uclampset uftrace unbuffer unshare "
    "urxvt valgrind watch watchexec wezterm winpty with-lock-ex withlock x86_64 xcrun xdotool xinetd xterm xvfb-run "
    "zellij zle zmodload zrun"
)
_NOTHING_TO_RUN: Final = frozenset({"true", "false", ":", "break", "continue", "return", "exit"})


def runs_nothing(command: SimpleCommand) -> bool:
    """Return whether it is a shell keyword that only controls the flow."""
    return command.name in _NOTHING_TO_RUN and not command.assignments


def unwrapped(command: SimpleCommand, inside: Inside, nested: int = 0) -> CommandNode:
    """Return the command with the commands that it starts; `inside` parses a script."""
    name = command.name
    if name is None:
        return CommandNode(command)
    directory, _, base = name.rpartition("/")
    trusted = directory in _DIRECTORIES and name != f"{directory}/time"
    if nested > NESTED or (nested and command.words[0].written in RESERVED):
        return CommandNode(command, CommandKind.OPAQUE)
    if base in WRAPPERS:
        part = _started(command, WRAPPERS[base], base, inside, nested)
    elif base in _SHELLS:
        part = _shell(command, inside)
    elif base == "eval":
        part = _script(command, [word.value for word in command.words[1:]], inside)
    elif base == "trap":
        part = _trap(command, inside)
    elif base == "find":
        part = _find(command, inside, nested)
    elif base in _OPAQUE:
        part = _opaque(command, inside)
    else:
        return CommandNode(command)
    # A program of that name in another directory may be anything; what it would start is still checked for denials.
    return part if trusted else replace(part, kind=CommandKind.OPAQUE)


def _guesses(command: SimpleCommand) -> tuple[CommandNode, ...]:
    """Return each remainder of the words that may be the started command; only deny rules use them."""
    return tuple(CommandNode(SimpleCommand(command.words[number:])) for number in range(1, min(len(command.words), 12)))


def _opaque(command: SimpleCommand, inside: Inside) -> CommandNode:
    """Return a command that starts something unknown, with the commands that it may start."""
    scripts = [inside(word.value) or () for word in command.words[1:] if word.value and " " in word.value]
    return CommandNode(
        command, CommandKind.OPAQUE, _guesses(command) + tuple(part for parts in scripts for part in parts)
    )


def _started(command: SimpleCommand, wrapper: _Wrapper, base: str, inside: Inside, nested: int) -> CommandNode:
    words = command.words
    if base == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
        return CommandNode(command)  # it only prints where a command is
    own = _own_words(words, wrapper, base)
    if own is None:
        return _opaque(command, inside)
    at, assignments = own
    if at >= len(words):
        return _opaque(command, inside) if base in ("sudo", "xargs") else CommandNode(command)
    more = (_MORE,) if wrapper.appends else ()
    started = SimpleCommand(_filled_in(words[at:]) + more if more else words[at:], command.assignments + assignments)
    part = unwrapped(started, inside, nested + 1)
    if wrapper.appends and (part.inner or part.kind is not CommandKind.PLAIN or "{}" in (started.name or "{}")):
        return CommandNode(command, CommandKind.OPAQUE, (part, *_guesses(command)))  # its input becomes code
    return CommandNode(command, wrapper.kind, (part,), at + max(1, part.named))


def _filled_in(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of a command in which {} is replaced by an unknown value."""
    return tuple(Word(word.written, None) if "{}" in (word.value or "") else word for word in words)


def _own_words(words: Sequence[Word], wrapper: _Wrapper, base: str) -> tuple[int, tuple[Assignment, ...]] | None:
    """Return how many of the words belong to the wrapper, and what it sets; None if uncertain."""
    at, operands = 1, wrapper.operands
    assignments: list[Assignment] = []
    while at < len(words):
        # A quoted word is not a shell keyword.
        value = words[at].value if base != "time" or words[at].value is None else words[at].written
        if value is None or (assignments and value.startswith("-")):
            return None  # behind an assignment an option may be the command
        if value == "--":
            at += 1 + operands
            break
        if value.startswith("-"):
            length = _option(value, words[at + 1 : at + 2], wrapper, base)
            if length is None:
                return None
            at += length
        elif wrapper.sets and (found := _ASSIGNMENT.fullmatch(value)):
            assignments.append(Assignment(found[1], words[at].written, True))
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    return at, tuple(assignments)


def _option(value: str, after: Sequence[Word], wrapper: _Wrapper, base: str) -> int | None:
    """Return how many words an option takes; None if unknown."""
    if value in wrapper.flags or (base == "nice" and re.fullmatch(r"-[0-9]+", value)):
        return 1
    name, equals, given = value.partition("=")
    if not equals and value in wrapper.valued:
        name, given, length = value, (after[0].value if after else None) or "", 2
    elif equals and name in wrapper.valued:
        length = 1
    elif not value.startswith("--") and value[:2] in wrapper.valued:
        name, given, length = value[:2], value[2:], 1
    else:
        return None
    # Any other text instead of {} could be the command itself.
    return None if name in ("-I", "--replace") and given != "{}" else length


def _shell(command: SimpleCommand, inside: Inside) -> CommandNode:
    values = [word.value for word in command.words]
    script = False
    at = 1
    while at < len(values):
        value = values[at]
        if value is None:
            return _opaque(command, inside)
        if value in ("-o", "+o"):
            if at + 1 >= len(values) or values[at + 1] not in ("pipefail", "errexit", "nounset", "xtrace"):
                return _opaque(command, inside)
            at += 2
        elif re.fullmatch(r"-[euxlc]+", value):
            script = script or "c" in value
            at += 1
        elif value in ("--norc", "--noprofile", "--login", "--posix"):
            at += 1
        elif value.startswith(("-", "+")):
            return _opaque(command, inside)
        else:
            break
    if script:
        return _script(command, values[at : at + 1], inside, at + 1)
    return CommandNode(command) if at < len(values) else _opaque(command, inside)  # a file, or its input


def _script(command: SimpleCommand, texts: list[str | None], inside: Inside, named: int = 0) -> CommandNode:
    """Return a command whose argument is a script."""
    known = [text for text in texts if text is not None]
    parts = inside(" ".join(known)) if len(known) == len(texts) and known else None
    if parts is None or command.assignments:
        return CommandNode(command, CommandKind.OPAQUE, parts or _guesses(command))
    return CommandNode(command, CommandKind.THROUGH, parts, named or len(command.words))


def _trap(command: SimpleCommand, inside: Inside) -> CommandNode:
    values = [word.value for word in command.words[1:] if word.value != "--"]
    if not values or values[0] in ("-", "", "-l", "-p"):
        return CommandNode(command)
    return _script(command, values[:1], inside)


def _find(command: SimpleCommand, inside: Inside, nested: int) -> CommandNode:
    words = command.words
    inner: list[CommandNode] = []
    at = 1
    while at < len(words):
        if words[at].value not in ("-exec", "-execdir", "-ok", "-okdir"):
            at += 1
            continue
        end = at + 1
        while (
            end < len(words)
            and words[end].value != ";"
            and not (words[end].value == "+" and words[end - 1].value == "{}")
        ):
            end += 1
        if end >= len(words) or end == at + 1:
            return _opaque(command, inside)
        started = SimpleCommand((*_filled_in(words[at + 1 : end]), _MORE), command.assignments)
        part = unwrapped(started, inside, nested + 1)
        if any("{}" in word.written for word in started.words) and (part.inner or part.kind is not CommandKind.PLAIN):
            return CommandNode(command, CommandKind.OPAQUE, (part,))
        if "{}" in (started.name or "{}"):
            return CommandNode(command, CommandKind.OPAQUE, (part,))
        inner.append(part)
        at = end + 1
    return CommandNode(command, CommandKind.BOTH, tuple(inner), len(words)) if inner else CommandNode(command)
