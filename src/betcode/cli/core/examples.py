"""The examples at the end of every command's help, by command."""

EXAMPLES = {
    "run": """\
  betcode run "why does the build fail?"                   one turn in a new session; the answer is on stdout
  git diff | betcode run "review this"                     what stands on stdin follows the prompt
  betcode run --file task.md --worktree fix-login          the prompt is a file
  betcode run --continue "and now the tests"               goes on with the session of this directory
  betcode run --output json --timeout 10m "fix the lint"   for scripts: one JSON value, and an end to waiting
  betcode run --on-ask park --max-cost 2 "tidy up"         what is asked waits for: betcode permission answer""",
    "attach": """\
  betcode attach 0199d2a0                                  the beginning of an id is enough
  betcode attach login-bug --all                           by its name, with the whole history
  betcode attach --worktree fix-login""",
    "session new": """\
  betcode session new --name login-bug
  betcode run --session "$(betcode session new --provider demo)" "hello"
  betcode session new --worktree fix-login --max-cost 5""",
    "session list": """\
  betcode session list --here                              those of this directory
  betcode session list --status active --status idle
  betcode session list --json | jq -r '.sessions[].id'""",
    "session show": """\
  betcode session show 0199d2a0
  betcode session show login-bug --json | jq '.events | length'""",
    "session follow": """\
  betcode session follow 0199d2a0                          until Ctrl-C
  betcode session follow 0199d2a0 --until-idle             what is left of the open turn
  betcode session follow 0199d2a0 --after 120 --json       an event a line""",
    "session compact": """\
  betcode session compact 0199d2a0""",
    "session close": """\
  betcode session close 0199d2a0                           its history stays""",
    "session cancel": """\
  betcode session cancel 0199d2a0
  betcode session cancel 0199d2a0 --queued                 and what waits behind the turn""",
    "session lock": """\
  betcode session lock 0199d2a0                            who types there has a moment to refuse""",
    "session rename": """\
  betcode session rename 0199d2a0 login-bug
  betcode session rename login-bug ""                      takes the name away""",
    "session export": """\
  betcode session export 0199d2a0 -o talk.md               the format follows the name
  betcode session export 0199d2a0 --format html > talk.html""",
    "session fork": """\
  betcode session fork 0199d2a0 --name "another way"
  betcode session fork 0199d2a0 --at 120                   from the turn that ended with event 120""",
    "session budget": """\
  betcode session budget 0199d2a0                          what it may spend, and has spent
  betcode session budget 0199d2a0 --max-cost 5 --max-time 2h
  betcode session budget 0199d2a0 --none""",
    "session grants": """\
  betcode session grants 0199d2a0
  betcode session grants 0199d2a0 --clear Bash""",
    "session diff": """\
  betcode session diff 0199d2a0 --stat
  betcode session diff 0199d2a0 --turn 2 > turn-2.patch""",
    "session delete": """\
  betcode session delete 0199d2a0                          asks first
  betcode session delete 0199d2a0 --yes""",
    "worktree create": """\
  betcode worktree create --new fix-login                  a new branch from what is checked out
  betcode worktree create --new hotfix --base v1.2         from a tag
  betcode worktree create feature/cart --name cart         a branch that is here or on one remote
  cd "$(betcode worktree create --new try)"                make it and go there""",
    "worktree list": """\
  betcode worktree list                                    * is the active one
  betcode worktree list --all --json""",
    "worktree switch": """\
  betcode worktree switch fix-login                        new sessions start there
  cd "$(betcode worktree switch fix-login)"
  betcode worktree switch .                                in the main worktree: back to it""",
    "worktree remove": """\
  betcode worktree remove fix-login                        refused while anything would be lost
  betcode worktree remove --force fix-login                betcode worktree restore brings it back""",
    "worktree restore": """\
  betcode worktree restore                                 what can be restored, and until when
  betcode worktree restore fix-login --path ../again""",
    "worktree prune": """\
  betcode worktree prune                                   asks for each that may go
  betcode worktree prune --older-than 30d --yes            does not ask
  betcode worktree prune fix-login try                     these, though used within the last day""",
    "worktree setup": """\
  betcode worktree setup fix-login
  betcode worktree setup fix-login --show""",
    "worktree diff": """\
  betcode worktree diff fix-login --stat
  betcode worktree diff fix-login --base main > fix.patch""",
    "worktree run": """\
  betcode worktree run fix-login -- npm test
  betcode worktree run . -- git log --oneline""",
    "search": """\
  betcode search login                                     in all sessions
  betcode search '"connection refused"' --limit 5          the words as they stand
  betcode search 'migrat*' --session 0199d2a0""",
    "permission list": """\
  betcode permission list
  betcode permission list --json | jq -r '.prompts[].request_id'""",
    "permission answer": """\
  betcode permission answer toolu_01 --allow
  betcode permission answer toolu_01 --allow-session "Bash(npm test:*)"
  betcode permission answer toolu_01 --deny --message "use the staging server"
  betcode permission answer toolu_01 --edit "npm test -- --watch=false"
  betcode permission answer question_1 --choose 2""",
    "permission watch": """\
  betcode permission watch                                 answers with one key on a terminal
  betcode permission watch --json                          a line for each that is opened or resolved""",
    "policy check": """\
  betcode policy check "Bash(git push)"
  betcode policy check --tool Edit --input '{"file_path": "src/a.py"}' --session 0199d2a0""",
    "policy list": """\
  betcode policy list
  betcode policy list --session 0199d2a0 --json""",
    "policy try": """\
  betcode policy try stricter.json --since 7d              what these rules would have changed""",
    "policy trust": """\
  betcode policy trust .""",
    "policy untrust": """\
  betcode policy untrust .""",
    "policy trusted": """\
  betcode policy trusted""",
    "audit list": """\
  betcode audit list --since 2h
  betcode audit list --session 0199d2a0 --limit 0""",
    "audit export": """\
  betcode audit export --since 30d -o audit.csv
  betcode audit export | jq -r .tool_name""",
    "audit verify": """\
  betcode audit verify                                     prints a head to note elsewhere""",
    "config show": """\
  betcode config show --origin                             and where each value comes from""",
    "config get": """\
  betcode config get agents.turn_limit""",
    "config set": """\
  betcode config set agents.turn_limit 3
  betcode config set daemon.autostart never --user""",
    "config unset": """\
  betcode config unset agents.turn_limit""",
    "config validate": """\
  betcode config validate
  betcode config validate .claude/settings.json""",
    "config path": """\
  betcode config path --project""",
    "config edit": """\
  EDITOR=nano betcode config edit""",
    "config import": """\
  betcode config import                                    from ~/.claude""",
    "config mcp": """\
  betcode config mcp""",
    "daemon run": """\
  betcode daemon run --set daemon.log_level=debug          in the foreground, until Ctrl-C""",
    "daemon start": """\
  betcode daemon start
  betcode daemon start --set agents.turn_limit=2""",
    "daemon stop": """\
  betcode daemon stop                                      agents at work go on
  betcode daemon stop --agents""",
    "daemon restart": """\
  betcode daemon restart""",
    "daemon status": """\
  betcode daemon status
  betcode daemon status --json | jq .serving""",
    "daemon logs": """\
  betcode daemon logs --follow --level warn
  betcode daemon logs -n 20 --session 0199d2a0""",
    "daemon install": """\
  betcode daemon install --print                           shows it and installs nothing
  betcode daemon install --linger""",
    "daemon uninstall": """\
  betcode daemon uninstall""",
    "daemon health": """\
  betcode daemon health && echo well""",
    "db backup": """\
  betcode db backup --keep 7                               into backups/ of the state directory
  betcode db backup /mnt/usb/betcode.db --force""",
    "db restore": """\
  betcode db restore backups/betcode-20260101-120000.db    with the daemon stopped""",
    "db check": """\
  betcode db check --quick""",
    "db repair": """\
  betcode db repair                                        with the daemon stopped""",
    "db usage": """\
  betcode db usage --limit 20""",
    "db prune": """\
  betcode db prune --older-than 90d --dry-run              shows what would go""",
    "cassette save": """\
  betcode cassette save 0199d2a0 -o bug.ndjson             shows it without secrets, and asks
  betcode cassette save login-bug --all --yes              every line of it, whole""",
    "providers": """\
  betcode providers                                        what is there, and what is missing
  betcode providers claude                                 all about one
  betcode providers --json | jq -r '.providers[] | select(.missing == null) | .name'""",
    "doctor": """\
  betcode doctor
  betcode doctor --repair --yes                            moves unusable runs aside, without a question""",
    "version": """\
  betcode version --json""",
    "features": """\
  betcode features""",
    "completion": """\
  eval "$(betcode completion bash)"                        in ~/.bashrc
  betcode completion zsh > ~/.zfunc/_betcode               in a directory of $fpath
  betcode completion fish > ~/.config/fish/completions/betcode.fish""",
}
