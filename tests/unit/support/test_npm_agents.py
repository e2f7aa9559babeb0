"""npm works in tests under a clean environment: with the machine's CA bundle and the user's configuration."""

from pathlib import Path

from support.providers.npm import npm_environment


def test_the_users_npm_configuration_is_used_under_a_clean_home(tmp_path: Path) -> None:
    user, clean = tmp_path / "user", tmp_path / "clean"
    user.mkdir()
    clean.mkdir()
    (user / ".npmrc").write_text("")
    assert npm_environment({"HOME": str(clean)}, user)["npm_config_userconfig"] == str(user / ".npmrc")
    (clean / ".npmrc").write_text("")
    assert "npm_config_userconfig" not in npm_environment({"HOME": str(clean)}, user)


def test_the_ca_bundle_of_the_machine_is_trusted_unless_another_is_named(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("")
    named = {"SSL_CERT_FILE": str(bundle)}
    assert npm_environment(named, tmp_path)["NODE_EXTRA_CA_CERTS"] == str(bundle)
    assert npm_environment({**named, "NODE_EXTRA_CA_CERTS": "/own.crt"}, tmp_path)["NODE_EXTRA_CA_CERTS"] == "/own.crt"
