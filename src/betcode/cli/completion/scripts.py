"""Completion for bash, zsh and fish: the scripts, and the hidden command that they call.

That command prints one candidate per line, with a description after a tab. `:files` and `:dirs` mean that the shell
completes paths itself.
"""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.cli.completion.candidates import candidates
from betcode.cli.core.arguments import Parser

if TYPE_CHECKING:
    from betcode.cli.core.options import CommandOptions  # not needed to complete an argument

_SCRIPTS = {
    "bash": """\
_betcode() {
    local line current="${COMP_WORDS[COMP_CWORD]}"
    [[ $current == = ]] && current=
    COMPREPLY=()
    while IFS= read -r line; do
        line="${line%%$'\\t'*}"
        case $line in
            :files) compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
            :dirs) compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
            *) [[ $line == *= ]] && compopt -o nospace 2>/dev/null
                printf -v line %q "$line"; COMPREPLY+=("$line") ;;
        esac
    done < <(betcode --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _betcode betcode
""",
    "zsh": """\
#compdef betcode
_betcode() {
    local line word
    local -a lines described
    lines=("${(@f)$(betcode --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    case "$lines[1]" in
        :files) _files; return ;;
        :dirs) _files -/; return ;;
        '') return 1 ;;
    esac
    for line in "${lines[@]}"; do
        word="${line%%$'\\t'*}"
        if [[ "$line" == *$'\\t'* ]]; then
            described+=("${word//:/\\\\:}:${line#*$'\\t'}")
        else
            described+=("${word//:/\\\\:}")
        fi
    done
    _describe -V betcode described
}
if [[ "$funcstack[1]" == _betcode ]]; then
    _betcode "$@"
else
    compdef _betcode betcode
fi
""",
    "fish": """\
function __betcode_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l lines (betcode --complete $words "$current" 2>/dev/null)
    switch "$lines[1]"
        case :files
            __fish_complete_path "$current"
        case :dirs
            __fish_complete_directories "$current"
        case '*'
            printf '%s\\n' $lines
    end
end
complete -c betcode -f -k -a '(__betcode_complete)'
""",
}


def print_script(options: "CommandOptions") -> int:
    """Print the completion script of a shell."""
    shell = options.text("shell")
    script = script_of(shell)
    print(json.dumps({"shell": shell, "script": script}) if options.as_json else script.rstrip("\n"))
    return 0


def script_of(shell: str, program: str = "betcode") -> str:
    """Return the completion script of a shell for this program."""
    return _SCRIPTS[shell].replace("betcode", program)


def complete(words: Sequence[str]) -> int:
    """Print the candidates for the last word, one per line."""
    from betcode.cli.core.parser import build_parser

    return print_candidates(build_parser(), words)


def print_candidates(parser: Parser, words: Sequence[str]) -> int:
    """Print the candidates from the given command tree."""
    for word, says in candidates(parser, words):
        if not word.isprintable():
            continue  # skip names with line breaks or control characters, which git's files may contain
        sys.stdout.write(f"{word}\t{says}\n" if says else f"{word}\n")
    return 0
