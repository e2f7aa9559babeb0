#!/bin/sh
# Install what `make test-wide` needs from the system: on Debian, as root. Without root, name what is missing.
#
# Programs that are present are not touched. Codex and opencode are no part of this: the tests install them from npm
# into .cache/agents. The certificates of the machine reach npm through NODE_EXTRA_CA_CERTS (tests/support/providers/npm.py).
set -eu

say() { printf 'betcode: %s\n' "$*" >&2; }

# program:package
missing=
for pair in bwrap:bubblewrap zsh:zsh fish:fish npm:npm openssl:openssl; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
if [ -z "$missing" ]; then
    say "the programs for make test-wide are present"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "these packages are missing, and only root on Debian can install them here:$missing"
    say "as root: apt-get install --no-install-recommends$missing"
    exit 1
fi
say "installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -qq --yes --no-install-recommends $missing >/dev/null
say "installed:$missing"
