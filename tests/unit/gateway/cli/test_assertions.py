"""`assertions key`, `make-key` and `verify`."""

import asyncio
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from fakes.assertions import AUDIENCE, ISSUER, TARGET, facts
from typer.testing import CliRunner, Result

from adapters.base import Secret
from gateway.assertions.issuing import Assertions
from gateway.assertions.key_file import FileSigner, make_key
from gateway.cli.assertions import app
from gateway.clock import SystemClock
from gateway.errors import StartError
from gateway.settings.assertions import AssertionSettings
from gateway.telemetry import configure

FORMER = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
SETTINGS = """
listeners:
  - {name: agent, address: "unix:g.sock", identity: {kind: fixed, tenant: acme, agent: helper}}
assertions:
  issuer: https://tollhouse.corp.example
  key_file: assertions.pem
  audiences: [{name: billing, hosts: ["billing.corp.example:8443"]}]
  former: [{kty: OKP, crv: Ed25519, x: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo}]
"""


def _run(*arguments: str, stdin: str = "") -> Result:
    """What comes of a command. Raises what the root would turn into a sentence."""
    done = CliRunner().invoke(app, arguments, input=stdin)
    if isinstance(done.exception, StartError):
        raise done.exception
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Settings and a key."""
    (tmp_path / "tollhouse.yaml").write_text(SETTINGS)
    make_key(tmp_path / "assertions.pem", bytes(32))
    return tmp_path


def _issued(folder: Path, **changes: Any) -> tuple[str, Path]:
    """An assertion as the gateway makes it, and the key set in a file."""
    audiences = [{"name": AUDIENCE, "hosts": list(TARGET.hosts)}]
    settings = AssertionSettings.model_validate(
        {"issuer": ISSUER, "key_file": folder / "assertions.pem", "audiences": audiences} | changes
    )
    clock = SystemClock()
    signer = FileSigner(folder / "assertions.pem", clock.monotonic, keep_seconds=60)
    log = configure("info", io.StringIO())
    assertions = Assertions(settings, signer, clock=clock, log=log, new_id=lambda: "jti-1")
    made: list[Secret] = []
    asked = assertions.of(facts(), TARGET, deadline=clock.monotonic() + 5, learn=made.append)
    token = asyncio.run(asked()).reveal()  # type: ignore[arg-type]  # a coroutine
    (folder / "jwks.json").write_bytes(assertions.jwks_document())
    return token, folder / "jwks.json"


def test_a_key_is_made_and_shown(tmp_path: Path) -> None:
    """The public half alone."""
    path = tmp_path / "new.pem"
    shown = json.loads(_run("make-key", str(path), "--json").stdout)
    assert shown["key_file"] == str(path)
    assert shown["key"]["crv"] == "Ed25519"
    assert "d" not in shown["key"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert _run("make-key", str(tmp_path / "other.pem")).stdout.count('"kid"') == 1
    with pytest.raises(StartError, match="name a file that is new"):
        _run("make-key", str(path))


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_the_published_keys_are_printed_without_a_gateway(folder: Path, how: tuple[str, ...]) -> None:
    """The one that signs and the former ones, as a service takes them."""
    keys = json.loads(_run("key", "--config", str(folder / "tollhouse.yaml"), *how).stdout)["keys"]
    assert len(keys) == 2
    assert keys[1]["x"] == FORMER["x"]


def test_without_the_section_there_are_no_keys(folder: Path) -> None:
    """In one sentence."""
    (folder / "tollhouse.yaml").write_text(SETTINGS.partition("assertions:")[0])
    with pytest.raises(StartError, match="no section assertions"):
        _run("key", "--config", str(folder / "tollhouse.yaml"))


def test_without_a_key_file_it_is_said_how_to_make_one(folder: Path) -> None:
    """As at a start."""
    (folder / "assertions.pem").unlink()
    with pytest.raises(StartError, match="tollhouse assertions make-key"):
        _run("key", "--config", str(folder / "tollhouse.yaml"))


def test_a_good_assertion_is_shown(folder: Path) -> None:
    """From the command line or from standard input; as a table or as JSON."""
    token, jwks = _issued(folder)
    done = _run("verify", token, "--jwks", str(jwks), "--audience", AUDIENCE)
    assert done.exit_code == 0
    assert "call:0190c0ffee" in done.stdout
    assert "s more" in done.stdout
    options = ("--jwks", str(jwks), "--audience", AUDIENCE, "--issuer", ISSUER, "--json")
    shown = json.loads(_run("verify", "-", *options, stdin=f"{token}\n").stdout)
    assert shown["valid"] is True
    assert shown["claims"]["tenant"] == "acme"


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda token: token, ("--audience", "ledger"), "it is for another audience"),
        (lambda token: token, ("--audience", AUDIENCE, "--issuer", "somebody"), "it is of another issuer"),
        (lambda token: token[:-4] + "AAAA", ("--audience", AUDIENCE), "its signature is wrong"),
        (lambda token: token.rpartition(".")[0] + ".", ("--audience", AUDIENCE), "its signature is wrong"),
        (lambda _: "nonsense", ("--audience", AUDIENCE), "it cannot be read"),
        (lambda _: "x" * 20_000, ("--audience", AUDIENCE), "more than 16384 bytes"),
        (lambda _: "eyJhbGciOiJub25lIn0.e30.", ("--audience", AUDIENCE), "must say alg EdDSA and typ"),
    ],
)
def test_why_an_assertion_is_not_to_be_believed(
    folder: Path, change: Any, options: tuple[str, ...], words: str
) -> None:
    """Exit code 1 and one sentence, or the same as JSON."""
    token, jwks = _issued(folder)
    done = _run("verify", change(token), "--jwks", str(jwks), *options)
    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr
    shown = json.loads(_run("verify", change(token), "--jwks", str(jwks), *options, "--json").stdout)
    assert shown["valid"] is False
    assert words in shown["problem"]


def test_one_that_has_expired_or_is_of_another_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said as that."""
    real = time.time
    monkeypatch.setattr(SystemClock, "now", staticmethod(lambda: real() - 100))
    token, jwks = _issued(folder)
    assert "it has expired" in _run("verify", token, "--jwks", str(jwks), "--audience", AUDIENCE).stderr
    jwks.write_text(json.dumps({"keys": [FORMER]}))
    done = _run("verify", token, "--jwks", str(jwks), "--audience", AUDIENCE)
    assert "no Ed25519 key of the name in its header" in done.stderr


@pytest.mark.parametrize("content", [None, "{}", '{"keys":[{"kty":"oct","k":"AA"}]}'])
def test_a_key_set_that_is_none_is_unusable(folder: Path, content: str | None) -> None:
    """Not the assertion's fault."""
    token, jwks = _issued(folder)
    jwks.unlink()
    if content is not None:
        jwks.write_text(content)
    with pytest.raises(StartError, match=r"jwks\.json"):
        _run("verify", token, "--jwks", str(jwks), "--audience", AUDIENCE)
