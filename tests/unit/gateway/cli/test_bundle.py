"""`policy bundle build`, `verify` and `keygen`: a bundle is written when everything is right, or not at all."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fakes.bundles import changed, write_keys
from typer.testing import CliRunner

from gateway.cli.bundle import app
from gateway.errors import StartError
from gateway.policy.bundle.manifest import revision_time

ALLOW = """package gateway.authz

decision := {"effect": "allow", "reasons": [], "obligations": []} if {
	input.tool.name == "echo"
}
"""
TEST = """package gateway.authz_test

test_echo if {
	data.gateway.authz.decision.effect == "allow" with input as {"tool": {"name": "echo"}}
}
"""


class Bench:
    """A policy with a test, a key pair, and the command."""

    def __init__(self, folder: Path) -> None:
        self.keys = write_keys(folder / "keys")
        self.policy = folder / "policy"
        self.policy.mkdir()
        self.bundle = folder / "bundle.tar.gz"
        (self.policy / "p.rego").write_text(ALLOW)
        (self.policy / "p_test.rego").write_text(TEST)

    def build(self, *more: str) -> Result:
        """Build with the private key."""
        key = str(self.keys.private_file)
        return CliRunner().invoke(app, ["build", str(self.policy), "-o", str(self.bundle), "--signing-key", key, *more])

    def verify(self, *more: str, key: Path | None = None) -> Result:
        """Verify with the public key, or another."""
        return CliRunner().invoke(app, ["verify", str(self.bundle), "--key", str(key or self.keys.public_file), *more])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Nothing was built yet."""
    return Bench(tmp_path)


def _json(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_what_is_built_can_be_verified(bench: Bench) -> None:
    """Both say the same, as JSON and in words."""
    built = _json(bench.build("--json"))
    assert (built["ok"], built["files"], built["roots"]) == (True, ["data.json", "p.rego"], ["gateway"])
    assert (built["algorithm"], built["key_id"], built["scope"]) == ("ES256", "default", "")
    assert revision_time(built["revision"]) is not None
    assert _json(bench.verify("--json")) == built
    words = bench.verify()
    assert words.exit_code == 0
    for fact in (built["revision"], built["fingerprint"], "ES256, key default", "p.rego"):
        assert fact in words.stdout


def test_revision_key_and_scope_can_be_chosen(bench: Bench) -> None:
    """And are found by whoever verifies."""
    revision = "20260101T000000Z-0123456789ab"
    assert bench.build("--revision", revision, "--scope", "write", "--key-id", "k7").exit_code == 0
    found = _json(bench.verify("--scope", "write", "--json"))
    assert (found["revision"], found["scope"], found["key_id"]) == (revision, "write", "k7")
    assert bench.verify().exit_code == 1


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("p.rego", "package gateway.authz\n\ndecision := http.send({})", "forbidden_call"),
        ("p.rego", "package gateway.authz\n\ndecision :=", "syntax"),
        ("p_test.rego", TEST.replace('"allow"', '"deny"'), "test_echo"),
        ("p_test.rego", "package gateway.authz_test", "no_tests"),
        ("é.rego", "package gateway.more", "name"),
    ],
)
def test_nothing_is_written_when_anything_is_wrong(bench: Bench, name: str, text: str, rule: str) -> None:
    """What is wrong is listed, and the exit code is 1."""
    (bench.policy / name).write_text(text)
    built = bench.build("--json")
    assert (built.exit_code, bench.bundle.exists()) == (1, False)
    found = _json(built)
    assert (found["ok"], [problem["rule"] for problem in found["problems"]]) == (False, [rule])
    assert rule in bench.build().stderr


def test_tests_can_be_left_out(bench: Bench) -> None:
    """When somebody else ran them."""
    (bench.policy / "p_test.rego").unlink()
    assert bench.build("--no-tests").exit_code == 0


def test_a_bundle_that_is_not_good_is_one(bench: Bench) -> None:
    """Tampered, by another key, or no bundle: each with its problem."""
    bench.build()
    good = bench.bundle.read_bytes()
    bench.bundle.write_bytes(changed(good, {"p.rego": b"package gateway.authz"}))
    tampered = bench.verify("--json")
    assert (tampered.exit_code, _json(tampered)["problems"][0]["file"]) == (1, "p.rego")
    bench.bundle.write_bytes(good)
    other = bench.verify(key=write_keys(bench.policy.parent / "other").public_file)
    assert (other.exit_code, "must not be used" in other.stderr) == (1, True)
    bench.bundle.write_text("garbage")
    assert bench.verify().exit_code == 1


def test_what_cannot_be_done_is_said_in_one_sentence(bench: Bench, tmp_path: Path) -> None:
    """Keys that are none, files that are not there, a revision without a time."""
    nowhere = str(tmp_path / "nowhere")
    for result, words in (
        (bench.build("--signing-key", nowhere), "cannot be read: No such file"),
        (bench.build("--signing-key", str(bench.keys.public_file)), "holds no private key"),
        (bench.build("--revision", "r1"), "a revision must say when it was built"),
        (bench.build("--revision", "29991231T000000Z-0123456789ab"), "time is yet to come"),
        (bench.build("-o", f"{nowhere}/b.tar.gz"), "cannot be written: No such file"),
        (bench.verify(), "cannot be read: No such file"),
        (bench.verify(key=bench.keys.private_file), "holds no public key"),
    ):
        assert isinstance(result.exception, StartError)
        assert words in result.exception.message


def test_an_algorithm_that_does_not_suit_the_key_is_refused(bench: Bench) -> None:
    """With those that do."""
    built = bench.build("--algorithm", "HS256")
    assert (built.exit_code, "this key can by ES256" in built.stderr) == (1, True)


def test_a_new_key_signs(bench: Bench, tmp_path: Path) -> None:
    """Its private half is its owner's alone, and no key is ever overwritten."""
    private, public = tmp_path / "new.pem", tmp_path / "new.pem.pub"
    assert CliRunner().invoke(app, ["keygen", str(private)]).exit_code == 0
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert bench.build("--signing-key", str(private)).exit_code == 0
    assert bench.verify(key=public).exit_code == 0
    before = private.read_bytes()
    again = CliRunner().invoke(app, ["keygen", str(private)])
    assert isinstance(again.exception, StartError)
    assert "File exists; name another file" in again.exception.message
    assert private.read_bytes() == before


@pytest.mark.parametrize("command", ["build", "verify", "keygen"])
def test_help_has_an_example(command: str) -> None:
    """Everybody starts there."""
    assert "Example: tollhouse policy bundle" in CliRunner().invoke(app, [command, "--help"]).stdout
