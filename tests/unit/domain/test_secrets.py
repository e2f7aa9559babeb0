"""What counts as a secret, and what does not."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betcode.domain.values.secrets import DETECTORS, redacted, redacted_json

# Put together here, so that nobody's scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
FINE = "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789"
GITLAB = "glpat-" + "zsDs1xF8yJkzLm3Qh7Wp"
SLACK = "xoxb-" + "17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"
HOOK = "T00000000/B00000000/" + "XXXXXXXXXXXXXXXXXXXXXXXX"
ANTHROPIC = "sk-ant-" + "api03-RkTx9Yw2LmQ8ZpVb"
OPENAI = "sk-" + "proj-4fGh7Jk2Lm9Np3Qr6St8"
STRIPE = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
GOOGLE = "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"
SENDGRID = "SG." + "abcdefghijklmnopqrstuv." + "qrstuvwxyz0123456789abcdefghijklmnop0123456"
NPM = "npm_" + "0123456789abcdefghijABCDEFGHIJ012345"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
OPENSSH = "-----BEGIN OPENSSH PRIVATE" + " KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"
HEX = "9f86d081884c7d659a2feaa0c55ad015"

SECRETS = [
    ("aws-access-key", f"aws_access_key_id is {AWS}", AWS),
    ("aws-access-key", f'"{AWS}"', AWS),
    ("github-token", f"git clone https://{GITHUB}@github.com/a/b", GITHUB),
    ("github-token", f"gh auth login --with-token <<< {FINE}", FINE),
    ("gitlab-token", f"PRIVATE-TOKEN: {GITLAB}", GITLAB),
    ("slack-token", f"curl -d token {SLACK}", SLACK),
    ("slack-webhook", f"curl https://hooks.slack.com/services/{HOOK}", HOOK),
    ("anthropic-key", f"export ANTHROPIC_API_KEY={ANTHROPIC}", ANTHROPIC),
    ("openai-key", f"OpenAI(api_key='{OPENAI}')", OPENAI),
    ("stripe-key", f"stripe.api_key is {STRIPE}", STRIPE),
    ("google-key", f"https://maps.example.com/?k={GOOGLE}&q=x", GOOGLE),
    ("package-token", f"//registry/:_auth {NPM}", NPM),
    ("jwt", f"see {JWT}", JWT),
    ("private-key", f"echo '{PEM}' > id_rsa", "MIIEow"),
    ("private-key", f"echo '{PEM}' > id_rsa", "IBAAKC"),
    ("private-key", OPENSSH, "b3BlbnNzaC1rZXktdjEAAAAA"),
    ("private-key", json.dumps({"content": PEM}), "MIIEow"),
    ("url-password", "psql postgres://app:h0tel@db/x", "h0tel"),
    ("url-password", "redis://:p@ss@cache:6379", "p@ss"),
    ("authorization", "curl -H 'Authorization: Basic dXNlcjpwYXNz' x", "dXNlcjpwYXNz"),
    ("authorization", '{"authorization": "token 0123abcd"}', "0123abcd"),
    ("authorization", json.dumps({"command": 'curl -H "Authorization: ApiKey a1b2c3"'}), "a1b2c3"),
    ("bearer-token", "use bearer abc123def456", "abc123def456"),
    ("user-password", "curl -u joe:tiger https://x", "tiger"),
    ("user-password", "curl --user 'joe:tiger' https://x", "tiger"),
    ("password", "mysql --password=tiger", "tiger"),
    ("password", "mysql --password tiger", "tiger"),
    ("password", "DB_PASSWORD='cor rect'", "cor rect"),
    ("password", 'password = "it\'s"', "it's"),
    ("password", "password: hunter2", "hunter2"),
    ("password", "Server=x;Pwd=tiger;", "tiger"),
    ("password", "https://x/?access_token=deadbeef&y=1", "deadbeef"),
    ("password", f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", AWS_SECRET),
    ("password", '{"clientSecret":"tiger"}', "tiger"),
    ("password", json.dumps({"command": 'export API_KEY="tiger"'}), "tiger"),
    ("password", json.dumps(json.dumps({"password": "tiger"})), "tiger"),
    ("sendgrid-key", f"curl -d {SENDGRID}", SENDGRID),
    ("password", "DB_PASS=tiger ./run", "tiger"),
    ("password", "export PASS='cor rect'", "cor rect"),
    ("password", "mysql -uroot -ptiger db", "tiger"),
    ("password", "mysqldump -h db -p'cor rect' app", "cor rect"),
    ("password", json.dumps({"command": 'mysql -p"tiger" db'}), "tiger"),
    ("password", "sshpass -p tiger ssh joe@host", "tiger"),
    ("password", "sshpass -ptiger ssh joe@host", "tiger"),
    ("password", "docker login -u joe -p tiger", "tiger"),
    ("key", f"COMMIT={HEX} LICENSE_KEY={HEX}", f"KEY={HEX}"),
    ("key", f"x-hub-signature: {HEX}", HEX),
]

INNOCENT = [
    "git commit -m 'rotate the password'",
    "max_tokens=1000 token_count: 52",
    "def login(password: str, token: Token | None = None) -> bool:",
    "export TOKEN=$(cat token.txt)",
    'curl -H "Authorization: Bearer $TOKEN" https://example.com',
    'curl -H "Authorization: Bearer ${TOKEN}"',
    "PASSWORD=<your password>",
    "PWD=/home/me/project",
    "password=********",
    "secret: null",
    "the bearer documentation",
    "authorization: needed for all calls",
    "https://example.com:8080/a@b",
    "git clone git@github.com:a/b.git",
    "ssh -p 22 joe@host",
    "sshpass -e ssh -p 22 joe@host",
    "mysql -u root -p app; mkdir -parents",
    "mysql -p$DB_PASS app",
    "ssh login -p 22",
    "PASS=120 FAIL=3",
    "bypass=enabled",
    "commit 9f86d081884c7d659a2feaa0c55ad0159f86d081",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "primary_key: customer_identifier_of_order",
    "sk-learn-is-not-a-key-but-a-library",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "AKIA is a prefix, eyJ too, and ghp_ also",
    "session 3f1c2b1e-6d55-4a51-9d1c-0d2f8a4c1d10",
]


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
def test_a_secret_gives_way_to_the_name_of_its_kind(kind: str, text: str, secret: str) -> None:
    shown = redacted(text)

    assert secret not in shown
    assert f"[redacted:{kind}]" in shown


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


def test_every_detector_has_an_example() -> None:
    assert {detector.name for detector in DETECTORS} == {kind for kind, _text, _secret in SECRETS}


def test_what_stands_around_a_secret_stays() -> None:
    assert redacted("a --password=tiger b") == "a --password=[redacted:password] b"
    assert redacted("postgres://app:h0tel@db/x") == "postgres://app:[redacted:url-password]@db/x"


def test_redacted_json_is_json_without_secrets() -> None:
    text = json.dumps({"pin": 1, "password": 123456, "env": [{"DB_PASSWORD": "two words"}], "key": HEX, "ok": True})

    shown = json.loads(redacted_json(text))

    hidden = "[redacted:password]"
    assert shown == {"pin": 1, "password": hidden, "env": [{"DB_PASSWORD": hidden}], "key": hidden, "ok": True}


def test_json_without_secrets_keeps_its_very_text() -> None:
    text = '{"command" :  "ls", "password": null, "token": false}'

    assert redacted_json(text) == text


def test_a_name_in_json_is_read_however_its_letters_are_written() -> None:
    assert json.loads(redacted_json('{"\\u0070assword": "tiger"}')) == {"password": "[redacted:password]"}


def test_what_only_begins_like_json_is_redacted_as_text() -> None:
    assert redacted_json('{"password": "tiger", ') == '{"password": "[redacted:password]", '


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    redacted(text)
    redacted_json(text)


@given(st.lists(st.sampled_from([text for _kind, text, _secret in SECRETS] + INNOCENT), max_size=6))
def test_a_redacted_text_has_nothing_left_to_redact(texts: list[str]) -> None:
    once = redacted("\n".join(texts))

    assert redacted(once) == once


FRAGMENTS = [
    *(text for _kind, text, _secret in SECRETS),
    *("eyJ", "a.", "-----BEGIN PRIVATE KEY-----", "-", "://", "://a:", "@", "password", "password=", "password='"),
    *('token="', "key=", "KEY: ", " ", "\\", '\\"', "authorization: ", "Bearer ", "-u a:", "sk-", "a", "0", "=", "é"),
    *("\n", "_", "secret_", "mysql", " -p", " -p'", "docker login -p "),
]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=3))
def test_a_long_text_takes_time_in_proportion(fragments: list[str]) -> None:
    """A pattern that goes back over what it read would need hours for these; seconds are plenty."""
    piece = "".join(fragments)
    text = piece * (100_000 // len(piece))
    before = time.process_time()

    redacted(text)

    assert time.process_time() - before < 20
