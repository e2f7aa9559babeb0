"""Completion for bash, zsh and fish: the scripts, and the hidden command that they ask."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.cli.candidates import candidates
from betcode.cli.parser import build_parser

if TYPE_CHECKING:
    from betcode.cli.options import Options  # not needed to complete a word

_SCRIPTS = {
    "bash": """\
_betcode() {
    local IFS=$'\\n'
    COMPREPLY=($(betcode --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _betcode betcode
""",
    "zsh": """\
#compdef betcode
_betcode() {
    local -a found
    found=("${(@f)$(betcode --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n "$found" ]] && compadd -a found || _files
}
compdef _betcode betcode
""",
    "fish": """\
function __betcode_complete
    betcode --complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c betcode -a '(__betcode_complete)'
""",
}


def print_script(options: "Options") -> int:
    """The script of a shell, to be evaluated by it."""
    print(_SCRIPTS[options.text("shell")], end="")
    return 0


def complete(words: Sequence[str]) -> int:
    """What the last word can become, one candidate a line."""
    for candidate in candidates(build_parser(), words):
        print(candidate)
    return 0
