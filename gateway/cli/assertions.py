"""`assertions key`, `make-key` and `verify`: what signs for internal services, and what they make of it."""

import asyncio
import json as json_module
import random
import secrets
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import jwt
import typer

from gateway.assertions.base import ALGORITHM, TYPE
from gateway.assertions.issuing import Assertions
from gateway.assertions.key_file import make_key
from gateway.assertions.signers import signer_of
from gateway.cli.terminal import complain, print_json, print_json_text, shown, table, terminal
from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.vault import VaultSource
from gateway.errors import StartError
from gateway.identity.jwks import KeySet, KeysUnusable, parse_keys
from gateway.settings.assertions import AssertionSettings
from gateway.settings.load import Settings, load_settings
from gateway.telemetry import configure

LEEWAY_SECONDS = 5
NEEDED = ("iss", "aud", "iat", "exp", "jti", "sub", "tenant", "agent", "call_id", "decision_id")
MAX_BYTES = 16 * 1024

app = typer.Typer(
    help="Signed assertions of who calls, for internal services.", no_args_is_help=True, rich_markup_mode=None
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def group() -> None:
    """Signed assertions of who calls, for internal services."""


@app.command("key")
def key(
    config: Annotated[Path, typer.Option("--config", "-c", help="The gateway's settings file.")],
    *,
    json: Json = False,
) -> None:
    """Print the keys that verify assertions, as a JSON Web Key Set for services that cannot ask for it.

    Example: tollhouse assertions key --config tollhouse.yaml > jwks.json
    """
    document = asyncio.run(_document(load_settings(config))).decode()
    if json:
        print_json_text(document)
    else:
        terminal().print(shown(json_module.dumps(json_module.loads(document), indent=2), lines=True), soft_wrap=True)


@app.command("make-key")
def make(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file that is not there yet.")], *, json: Json = False
) -> None:
    """Make a private key that signs assertions, in a file that its owner alone may read.

    What verifies it is printed, and later by `tollhouse assertions key`.

    Example: tollhouse assertions make-key /etc/tollhouse/assertions.pem
    """
    made = make_key(path, secrets.token_bytes(32))
    if json:
        print_json({"key_file": str(path), "key": made.jwk()})
    else:
        terminal().print(shown(f"{path} holds a new key; it is verified by"), soft_wrap=True)
        print_json(made.jwk())


@app.command("verify")
def verify(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The assertion; - reads it from standard input.")],
    *,
    jwks: Annotated[Path, typer.Option("--jwks", help="The key set that it has to be signed by.")],
    audience: Annotated[str, typer.Option("--audience", help="Whom it has to be for.")],
    issuer: Annotated[str, typer.Option("--issuer", help="Who has to have signed it; anybody when left out.")] = "",
    json: Json = False,
) -> None:
    """Check an assertion as a service has to, and print what it says. Exit code 1 when it is not to be believed.

    Example: tollhouse assertions verify - --jwks jwks.json --audience billing < assertion.txt
    """
    text = (sys.stdin.read(MAX_BYTES + 1) if token == "-" else token).strip()  # noqa: S105 - a dash
    keys = _key_set(jwks)
    try:
        claims = _verified(text, keys, audience, issuer)
    except _Refused as refused:
        if json:
            print_json({"valid": False, "problem": str(refused)})
        else:
            complain(f"the assertion is not to be believed: {refused}")
        raise typer.Exit(1) from None
    if json:
        print_json({"valid": True, "claims": claims})
    else:
        _print_claims(claims)


class _Refused(Exception):  # noqa: N818 - named for what it is
    """The text says why, in words that can follow a colon."""


def _verified(token: str, keys: KeySet, audience: str, issuer: str) -> dict[str, Any]:
    """What a token says, once all of it is right. Raises `_Refused`."""
    try:
        if len(token) > MAX_BYTES:
            raise _Refused(f"it has more than {MAX_BYTES} bytes")
        header = jwt.get_unverified_header(token)
        if (header.get("alg"), header.get("typ")) != (ALGORITHM, TYPE):
            raise _Refused(f"its header must say alg {ALGORITHM} and typ {TYPE}")
        found = keys.find(header["kid"]) if isinstance(header.get("kid"), str) else None
        if found is None or ALGORITHM not in found.algorithms:
            raise _Refused("the key set has no Ed25519 key of the name in its header; ask for the set again")
        return jwt.decode(
            token,
            found.public,
            algorithms=[ALGORITHM],
            audience=audience,
            issuer=issuer or None,
            leeway=LEEWAY_SECONDS,
            options={"require": list(NEEDED), "strict_aud": True},
        )
    except jwt.PyJWTError as error:
        why = _REASONS.get(type(error)) or str(error)[:200]
    except (ValueError, TypeError, OverflowError, RecursionError):
        why = "it cannot be read"
    raise _Refused(why)


_REASONS: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "it is from the future; compare the clocks",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is of another issuer",
    jwt.InvalidSignatureError: "its signature is wrong",
    jwt.DecodeError: "it cannot be read",
}


def _print_claims(claims: dict[str, Any]) -> None:
    rows = table("Claim", "Value", title="A good assertion")
    for name, value in claims.items():
        rows.add_row(shown(name), shown("-" if value is None else value))
    left = int(claims["exp"] - time.time())
    terminal().print(rows)
    terminal().print(f"holds for {left} s more" if left > 0 else "has just expired")


def _key_set(path: Path) -> KeySet:
    try:
        return parse_keys(path.read_bytes())
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}; name a key set") from error
    except KeysUnusable as error:
        raise StartError(f"{path} {error}; `tollhouse assertions key` prints one") from error


async def _document(settings: Settings) -> bytes:
    """The key set of the settings. Raises `StartError`."""
    wanted = settings.assertions
    if wanted is None:
        raise StartError("the settings have no section assertions, so nothing is signed; add one")
    if settings.vault is None or wanted.transit is None:
        return await _published(wanted, None, None)
    vault = settings.vault
    client = VaultClient(
        vault.addresses, namespace=vault.namespace, ca_file=vault.ca_file, timeout_seconds=vault.timeout_ms / 1000
    )
    source = VaultSource(vault, client, clock=SystemClock(), chance=random.random)
    try:
        return await _published(wanted, client, source)
    finally:
        await source.stop()


async def _published(wanted: AssertionSettings, client: VaultClient | None, source: VaultSource | None) -> bytes:
    clock, log = SystemClock(), configure("error")
    signer = signer_of(wanted, client, source.session.ask if source is not None else None, clock=clock, log=log)
    assertions = Assertions(wanted, signer, clock=clock, log=log, new_id=lambda: "")
    await assertions.start()
    try:
        return assertions.jwks_document()
    finally:
        await assertions.stop()
