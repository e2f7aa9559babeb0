"""The options of `betcode worktree`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from betcode.cli.session.diff_options import add_worktree_diff
from betcode.cli.worktree.completion import BranchArgument, WorktreeArgument

if TYPE_CHECKING:
    from betcode.cli.core.arguments import Commands, Parser

NAME = "name, branch, id (or a prefix), or path of a worktree; . for the current one"


def add_worktree(
    commands: "Commands[Parser]",
    noun: "Callable[[Commands[Parser], str, str], Commands[Parser]]",
    command: "Callable[[Commands[Parser], str, str, str], Parser]",
) -> None:
    verbs = noun(commands, "worktree", "create and manage git worktrees for sessions")
    _add_create(command(verbs, "create", "create a worktree, set it up and print its path", "worktree.create:create"))
    listing = command(verbs, "list", "list the worktrees of the repository", "worktree.commands:list_worktrees")
    listing.add_argument("--all", action="store_true", help="worktrees of all known repositories")
    _add_directory(listing)
    switch = command(verbs, "switch", "make a worktree the active one and print its path", "worktree.commands:switch")
    _add_name(switch)
    _add_directory(switch)
    remove = command(verbs, "remove", "remove a worktree if no work would be lost", "worktree.remove:remove")
    _add_name(remove)
    remove.add_argument(
        "--force", action="store_true", help="remove it even with changes; they can be restored for a while"
    )
    remove.add_argument("-y", "--yes", action="store_true", help="with --force: do not ask for confirmation")
    _add_directory(remove)
    restore = command(verbs, "restore", "restore a worktree that was removed with --force", "worktree.remove:restore")
    restore.add_argument(
        "name", nargs="?", metavar="ID|NAME", help="the removed worktree (default: list those that can be restored)"
    )
    restore.add_argument("--path", metavar="PATH", help="new path (the old path)")
    _add_directory(restore)
    prune = command(verbs, "prune", "show the disk use of worktrees and offer to remove them", "worktree.prune:prune")
    prune.add_argument(
        "names", action=WorktreeArgument, nargs="*", metavar="NAME", help="only these, regardless of age"
    )
    prune.add_argument(
        "--older-than", metavar="AGE", help='offer worktrees that were unused for this time, such as "30d" (1d)'
    )
    prune.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    prune.add_argument("--all", action="store_true", help="worktrees of all known repositories")
    _add_directory(prune)
    setup = command(verbs, "setup", "run the setup of a worktree again", "worktree.create:set_up")
    _add_name(setup)
    setup.add_argument("--show", action="store_true", help="only print the output of the last setup")
    _add_directory(setup)
    add_worktree_diff(verbs, command, NAME)
    run = command(verbs, "run", "run a command in a worktree", "worktree.run:run")
    run.tail = "argv"
    run.usage = "betcode worktree run [OPTIONS] NAME -- COMMAND [ARGUMENT ...]"
    _add_name(run)
    _add_directory(run)


def _add_create(create: "Parser") -> None:
    create.add_argument("branch", action=BranchArgument, metavar="BRANCH", help="branch to check out")
    create.add_argument("--new", action="store_true", help="create the branch")
    create.add_argument("--base", metavar="COMMIT", help="with --new: start from this branch, tag or commit (HEAD)")
    create.add_argument("--name", metavar="NAME", help="name of the worktree (the branch, with dashes)")
    create.add_argument("--path", metavar="PATH", help="path of the worktree (beside the repository, named after both)")
    create.add_argument("--no-setup", action="store_true", help="do not run the setup")
    create.add_argument("--roll-back", action="store_true", help="remove the worktree if its setup fails")
    create.add_argument("--switch", action="store_true", help="make it the active one")
    _add_directory(create)


def _add_name(parser: "Parser") -> None:
    parser.add_argument("name", action=WorktreeArgument, metavar="NAME", help=NAME)


def _add_directory(parser: "Parser") -> None:
    parser.add_argument("-C", "--dir", dest="cwd", metavar="DIR", help="repository (the current one)")
