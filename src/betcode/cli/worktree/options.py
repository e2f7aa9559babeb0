"""The options of `betcode worktree`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.session.diff_options import add_worktree_diff
from betcode.cli.worktree.completion import BranchWord, WorktreeWord

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

NAME = "its name, its branch, its id or the beginning of one, its path, or . for the one you are in"


def add_worktree(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "worktree", "one place per line of work: git worktrees in which sessions run")
    _add_create(command(verbs, "create", "make a worktree, set it up and print its path", "worktree.create:create"))
    listing = command(verbs, "list", "list the worktrees of the repository", "worktree.commands:list_worktrees")
    listing.add_argument("--all", action="store_true", help="those of all repositories that are known")
    _add_directory(listing)
    switch = command(verbs, "switch", "make a worktree the active one and print its path", "worktree.commands:switch")
    _add_name(switch)
    _add_directory(switch)
    remove = command(verbs, "remove", "remove a worktree in which nothing would be lost", "worktree.remove:remove")
    _add_name(remove)
    remove.add_argument("--force", action="store_true", help="also with changes; they can be restored for a while")
    remove.add_argument("-y", "--yes", action="store_true", help="with --force: do not ask")
    _add_directory(remove)
    restore = command(verbs, "restore", "bring back what was removed by force", "worktree.remove:restore")
    restore.add_argument("name", nargs="?", metavar="ID|NAME", help="which one (without: list what can be restored)")
    restore.add_argument("--path", metavar="PATH", help="where to (where it was)")
    _add_directory(restore)
    prune = command(verbs, "prune", "show what worktrees cost, and offer to remove them", "worktree.prune:prune")
    prune.add_argument("names", action=WorktreeWord, nargs="*", metavar="NAME", help="only these, however new")
    prune.add_argument("--older-than", metavar="AGE", help='offer what was not used for so long, such as "30d" (1d)')
    prune.add_argument("-y", "--yes", action="store_true", help="do not ask")
    prune.add_argument("--all", action="store_true", help="those of all repositories that are known")
    _add_directory(prune)
    setup = command(verbs, "setup", "run the setup of a worktree again", "worktree.create:set_up")
    _add_name(setup)
    setup.add_argument("--show", action="store_true", help="only print what the last one wrote")
    _add_directory(setup)
    add_worktree_diff(verbs, command, NAME)
    run = command(verbs, "run", "run a command in a worktree", "worktree.run:run")
    run.tail = "argv"
    run.usage = "betcode worktree run [OPTIONS] NAME -- COMMAND [ARGUMENT ...]"
    _add_name(run)
    _add_directory(run)


def _add_create(create: "Parser") -> None:
    create.add_argument("branch", action=BranchWord, metavar="BRANCH", help="what is checked out in it")
    create.add_argument("--new", action="store_true", help="make the branch")
    create.add_argument("--base", metavar="COMMIT", help="with --new: from this branch, tag or commit (HEAD)")
    create.add_argument("--name", metavar="NAME", help="what it is called (the branch, with dashes)")
    create.add_argument("--path", metavar="PATH", help="where it is (beside the repository, named after both)")
    create.add_argument("--no-setup", action="store_true", help="do not run its setup")
    create.add_argument("--roll-back", action="store_true", help="remove it again where its setup fails")
    create.add_argument("--switch", action="store_true", help="make it the active one")
    _add_directory(create)


def _add_name(parser: "Parser") -> None:
    parser.add_argument("name", action=WorktreeWord, metavar="NAME", help=NAME)


def _add_directory(parser: "Parser") -> None:
    parser.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="of the repository there (the current one)")
