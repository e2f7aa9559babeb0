"""The arguments that git may get in a campaign: nothing that destroys, leaves the root, or runs a named program."""

import re
from collections.abc import Iterator, Mapping, Sequence

from betcode.campaigns.paths import shown
from betcode.campaigns.words import before_operands
from betcode.domain.obey.campaign_errors import CommandRefused

_GLOBALS = frozenset(
    {
        "--glob-pathspecs",
        "--icase-pathspecs",
        "--literal-pathspecs",
        "--no-advice",
        "--no-lazy-fetch",
        "--no-optional-locks",
        "--no-pager",
        "--no-replace-objects",
        "--noglob-pathspecs",
        "-P",
    }
)
_VERSION = frozenset({"--version", "-v"})
# Git's own commands, which no alias of a repository can replace; an alias may be any program.
_NAMES = (
    "add am apply blame branch cat-file check-ignore checkout cherry cherry-pick clean commit describe diff "
    "diff-tree fetch for-each-ref grep log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull push "
    "range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash "
    "status switch tag version"
)
_SUBCOMMANDS = frozenset(_NAMES.split())
_RUN_PROGRAMS = (
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--config",
    "--template",
    "--unsafe-paths",
    "--edit-description",
)
_PROGRAM_LETTERS: Mapping[str, str] = {"rebase": "x", "grep": "O", "ls-remote": "u"}
_FORCE = ("--force", "--force-with-lease", "--mirror", "--delete", "--prune")
_FORCE_LETTERS = "fd"
_STRATEGIES = frozenset({"ours", "octopus", "ort", "recursive", "resolve", "subtree"})
_WITH_STRATEGY = frozenset({"cherry-pick", "merge", "pull", "rebase", "revert"})
_SHORT_STRATEGY = frozenset({"merge", "pull", "rebase"})  # elsewhere -s signs
_TAKE_THE_REST = "CFSXcjmo"  # letters whose value may follow directly
_WITH_REMOTE = frozenset({"fetch", "ls-remote", "pull", "push", "remote"})
_HELPER = re.compile(r"(?:--[\w-]+=)?[\w+.-]*::")  # an address that is a program
_CLEAN_WORDS = frozenset({"-n", "--dry-run", "-d", "-x", "-X", "-q", "--quiet", "-nd", "-dn", "-ndx", "-nx"})
_DRY_RUN = frozenset({"-n", "--dry-run", "-nd", "-dn", "-ndx", "-nx"})
_MESSAGE = frozenset({"-m", "--message"})
_WITH_MESSAGE = frozenset({"commit", "merge", "notes", "stash", "tag"})


def check_git(argv: Sequence[str]) -> Iterator[str]:
    """Return the words in which to search for paths: all but the messages of commits.

    Raises:
        CommandRefused
    """
    at = 1
    while at < len(argv) and argv[at] in _GLOBALS:
        at += 1
    if at == len(argv):
        raise CommandRefused("git needs a subcommand")
    if argv[at] in _VERSION and at + 1 == len(argv):
        return iter(())
    subcommand, words = argv[at], argv[at + 1 :]
    if subcommand.startswith("-"):
        raise CommandRefused(
            f"git {shown(subcommand)} is not allowed here: before a subcommand "
            "it could change the directory or run a program"
        )
    if subcommand not in _SUBCOMMANDS:
        raise CommandRefused(f"git {shown(subcommand)} is not an allowed subcommand")
    options = list(_options(words))
    _refuse_programs(subcommand, options)
    if subcommand in _WITH_REMOTE:
        _refuse_helpers(words)
    match subcommand:
        case "push":
            _refuse_forcing(words, options)
        case "reset":
            _refuse_any(options, ("--hard",), "git reset --hard loses work that is not committed")
        case "clean":
            _refuse_cleaning(words)
        case _ if subcommand in _WITH_STRATEGY:
            _refuse_strategies(subcommand, words)
        case _:
            pass
    return iter(_without_messages(words) if subcommand in _WITH_MESSAGE else words)


def _options(words: Sequence[str]) -> Iterator[str]:
    return (word for word in before_operands(words) if word.startswith("-") and word not in ("-", "--"))


def _refuse_programs(subcommand: str, options: Sequence[str]) -> None:
    _refuse_any(options, _RUN_PROGRAMS, f"git {subcommand} would run a program, or leave the root")
    letters = _PROGRAM_LETTERS.get(subcommand, "")
    for word in options:
        if not word.startswith("--") and any(letter in word for letter in letters):
            raise CommandRefused(f"git {subcommand} {shown(word)} would run a program: it may not be run here")


def _refuse_any(options: Sequence[str], refused: Sequence[str], why: str) -> None:
    for word in options:
        name = word.partition("=")[0]
        # git takes any beginning of an option that is unique.
        if len(name) > 2 and name.startswith("--") and any(each.startswith(name) for each in refused):
            raise CommandRefused(f"{why}: {shown(word)} may not be used here")


def _refuse_forcing(words: Sequence[str], options: Sequence[str]) -> None:
    why = "git push must not overwrite or delete the work of others"
    _refuse_any(options, _FORCE, why)
    for word in options:
        if not word.startswith("--") and any(letter in word for letter in _FORCE_LETTERS):
            raise CommandRefused(f"{why}: {shown(word)} may not be used here")
    for word in words:
        if word.startswith(("+", ":")):
            raise CommandRefused(f"{why}: {shown(word)} would do so")


def _refuse_cleaning(words: Sequence[str]) -> None:
    """Refuse git clean: with paths, or by a setting, it removes directories without -d or -f."""
    strange = [word for word in _options(words) if word not in _CLEAN_WORDS]
    if strange or not any(word in _DRY_RUN for word in _options(words)):
        raise CommandRefused("git clean deletes files that are not committed: only git clean --dry-run may be run here")


def _refuse_helpers(words: Sequence[str]) -> None:
    for word in words:
        if _HELPER.match(word):
            raise CommandRefused(f"git would run a program for the address {shown(word)}: it may not be used here")


def _refuse_strategies(subcommand: str, words: Sequence[str]) -> None:
    """Refuse unknown strategies: git runs a program git-merge-NAME for them."""
    for number, word in enumerate(words):
        behind = "".join(words[number + 1 : number + 2])
        name, equals, value = word.partition("=")
        if len(name) > 2 and "--strategy".startswith(name):
            value = value if equals else behind
        elif subcommand in _SHORT_STRATEGY and (short := _short_strategy(word)) is not None:
            value = short or behind
        else:
            continue
        if value not in _STRATEGIES:
            raise CommandRefused(f"git would run a program for the strategy {shown(value)}: it may not be used here")


def _short_strategy(word: str) -> str | None:
    """Return the text after -s in one word, also after other letters; None: there is no -s."""
    if not word.startswith("-") or word.startswith("--"):
        return None
    for at, letter in enumerate(word[1:], 1):
        if letter == "s":
            return word[at + 1 :]
        if letter in _TAKE_THE_REST:
            return None
    return None


def _without_messages(words: Sequence[str]) -> Iterator[str]:
    """All but messages, which are text.

    Where another option takes the -m as its value, what follows it is a path, which git keeps to the repository, or an
    option, which begins with a dash.
    """
    before = ""
    for word in words:
        is_message = before in _MESSAGE and not word.startswith("-")
        before = word
        if not is_message:
            yield word
