"""The examples at the end of every command's help, by command."""

EXAMPLES = {
    "serve": """\
  obey serve
  obey serve --foreground --log-level debug                until Ctrl-C""",
    "stop": """\
  obey stop""",
    "ping": """\
  obey ping && echo up
  obey ping --socket /tmp/obey.sock --json""",
    "status": """\
  obey status
  obey status --json | jq '.active_sessions | length'""",
    "campaigns": """\
  obey campaigns
  obey campaigns --json | jq -r '.campaigns[].name'""",
    "exec": """\
  obey exec --campaign ethdenver2026 -- fest status
  obey exec -- git log --oneline                           in the campaign of this directory
  obey exec --json --follow -- just test                   one line per piece of output""",
    "session create": """\
  obey session create --campaign ethdenver2026 --provider claude-code --model opus --name coordinator
  obey session create --provider acp --config profile=opencode --workdir services/api
  obey session create --provider codex --festival hedera-foundation-HF0001 --message "run fest next"
  obey session create --max-tokens 200000 --timeout 2h --env LANG=C --json""",
    "session list": """\
  obey session list
  obey session list --campaign ethdenver2026
  obey session list --all --json | jq -r '.sessions[].id'""",
    "session send": """\
  obey session send sess_01JM "implement the next festival task"
  git diff | obey session send coordinator -               read the message from stdin
  reply=$(obey session send sess_01JM "which tests fail?")""",
    "session watch": """\
  obey session watch sess_01JM                             until it stops, or Ctrl-C
  obey session watch --campaign ethdenver2026              all sessions of a campaign
  obey session watch sess_01JM --json                      one line per activity""",
    "session stop": """\
  obey session stop sess_01JM                              when its current work is done
  obey session stop sess_01JM --force""",
    "session restart": """\
  obey session restart sess_01JM
  obey session restart sess_01JM --config sandbox=read-only  # of codex""",
    "session info": """\
  obey session info sess_01JM
  obey session info coordinator --json | jq .session.tokens_output""",
    "session answer": """\
  obey session answer sess_01JM 5f0c2d9e allow
  obey session answer sess_01JM 5f0c2d9e allow --for-session
  obey session answer sess_01JM 5f0c2d9e deny --message "use the staging server\"""",
    "completion": """\
  eval "$(obey completion bash)"                           in ~/.bashrc
  obey completion zsh > ~/.zfunc/_obey                     in a directory of $fpath
  obey completion fish > ~/.config/fish/completions/obey.fish""",
}
