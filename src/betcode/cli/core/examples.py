"""The examples at the end of every command's help, by command."""

EXAMPLES = {
    "run": """\
  betcode run "why does the build fail?"                   one turn in a new session; the answer is on stdout
  git diff | betcode run "review this"                     piped input is appended to the prompt
  betcode run --file task.md --worktree fix-login          read the prompt from a file
  betcode run --continue "and now the tests"               continue the session of this directory
  betcode run --output json --timeout 10m "fix the lint"   for scripts: one JSON value, and a time limit
  betcode run --on-ask park --max-cost 2 "tidy up"         prompts stay pending; see betcode permission answer""",
    "attach": """\
  betcode attach 0199d2a0                                  a unique prefix of the id is enough
  betcode attach login-bug --all                           by name, with the whole history
  betcode attach --worktree fix-login""",
    "session new": """\
  betcode session new --name login-bug
  betcode run --session "$(betcode session new --provider demo)" "hello"
  betcode session new --worktree fix-login --max-cost 5""",
    "session list": """\
  betcode session list --here                              sessions of this directory
  betcode session list --status active --status idle
  betcode session list --json | jq -r '.sessions[].id'""",
    "session show": """\
  betcode session show 0199d2a0
  betcode session show login-bug --json | jq '.events | length'""",
    "session follow": """\
  betcode session follow 0199d2a0                          until Ctrl-C
  betcode session follow 0199d2a0 --until-idle             until the open turn ends
  betcode session follow 0199d2a0 --after 120 --json       one event per line""",
    "session compact": """\
  betcode session compact 0199d2a0""",
    "session close": """\
  betcode session close 0199d2a0                           the history stays""",
    "session cancel": """\
  betcode session cancel 0199d2a0
  betcode session cancel 0199d2a0 --queued                 also cancel queued messages""",
    "session lock": """\
  betcode session lock 0199d2a0                            the holder has a moment to refuse""",
    "session rename": """\
  betcode session rename 0199d2a0 login-bug
  betcode session rename login-bug ""                      remove the name""",
    "session export": """\
  betcode session export 0199d2a0 -o talk.md               the format follows the file extension
  betcode session export 0199d2a0 --format html > talk.html""",
    "session fork": """\
  betcode session fork 0199d2a0 --name "another way"
  betcode session fork 0199d2a0 --at 120                   from the turn that ended with event 120""",
    "session budget": """\
  betcode session budget 0199d2a0                          show limits and usage
  betcode session budget 0199d2a0 --max-cost 5 --max-time 2h
  betcode session budget 0199d2a0 --none""",
    "session grants": """\
  betcode session grants 0199d2a0
  betcode session grants 0199d2a0 --clear Bash""",
    "session diff": """\
  betcode session diff 0199d2a0 --stat
  betcode session diff 0199d2a0 --turn 2 > turn-2.patch""",
    "session delete": """\
  betcode session delete 0199d2a0                          ask for confirmation
  betcode session delete 0199d2a0 --yes""",
    "worktree create": """\
  betcode worktree create --new fix-login                  a new branch from the current commit
  betcode worktree create --new hotfix --base v1.2         from a tag
  betcode worktree create feature/cart --name cart         a local branch, or one of a remote
  cd "$(betcode worktree create --new try)"                create it and change to it""",
    "worktree list": """\
  betcode worktree list                                    * is the active one
  betcode worktree list --all --json""",
    "worktree switch": """\
  betcode worktree switch fix-login                        new sessions start there
  cd "$(betcode worktree switch fix-login)"
  betcode worktree switch .                                in the main worktree: make it active""",
    "worktree remove": """\
  betcode worktree remove fix-login                        refused if work would be lost
  betcode worktree remove --force fix-login                can be undone with worktree restore""",
    "worktree restore": """\
  betcode worktree restore                                 list restorable worktrees with deadlines
  betcode worktree restore fix-login --path ../again""",
    "worktree prune": """\
  betcode worktree prune                                   ask for each removable worktree
  betcode worktree prune --older-than 30d --yes            without asking
  betcode worktree prune fix-login try                     these, even if used within the last day""",
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
  betcode search '"connection refused"' --limit 5          an exact phrase
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
  betcode permission watch                                 answer with one key on a terminal
  betcode permission watch --json                          one line per opened or resolved prompt""",
    "policy check": """\
  betcode policy check "Bash(git push)"
  betcode policy check --tool Edit --input '{"file_path": "src/a.py"}' --session 0199d2a0""",
    "policy list": """\
  betcode policy list
  betcode policy list --session 0199d2a0 --json""",
    "policy try": """\
  betcode policy try stricter.json --since 7d              show decisions that would differ""",
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
  betcode audit verify                                     print a head to store elsewhere""",
    "config show": """\
  betcode config show --origin                             with the source of each value""",
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
  betcode daemon stop                                      working agents continue
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
  betcode daemon install --print                           print it and install nothing
  betcode daemon install --linger""",
    "daemon uninstall": """\
  betcode daemon uninstall""",
    "daemon health": """\
  betcode daemon health && echo healthy""",
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
  betcode db prune --older-than 90d --dry-run              list what would be deleted""",
    "cassette save": """\
  betcode cassette save 0199d2a0 -o bug.ndjson             show it without secrets, and ask
  betcode cassette save login-bug --all --yes              show every line in full""",
    "providers": """\
  betcode providers                                        installed and missing providers
  betcode providers claude                                 all details of one provider
  betcode providers --json | jq -r '.providers[] | select(.missing == null) | .name'""",
    "doctor": """\
  betcode doctor
  betcode doctor --repair --yes                            move unusable runs aside without asking""",
    "version": """\
  betcode version --json""",
    "features": """\
  betcode features""",
    "completion": """\
  eval "$(betcode completion bash)"                        in ~/.bashrc
  betcode completion zsh > ~/.zfunc/_betcode               in a directory of $fpath
  betcode completion fish > ~/.config/fish/completions/betcode.fish""",
}
