"""Proof as an installation of a GitHub App."""

from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fakes.cases.github import PLACE, issue
from fakes.vendor import NOW, Asked, Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Output, Target
from adapters.github.installation import is_private_key, option_problems

APP = {"app_id": "Iv23liAbCdEf", "installation_id": 77}
_PLAIN = serialization.NoEncryption()
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA_KEY = _KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, _PLAIN
).decode()
UNKNOWN_CURVE = (
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqBHM9VAYItBG0wawIBAQQgUCD/WAqNEov9NFAo\n"
    "wGigDi+wPpNOEDeVvQyBNrC63bmhRANCAAQvev7uBuj9+B4vjxyTgYOdVPB5C/FS\n"
    "NYfs3KaAqHeSqWikU+6oELpPBm/+0cgdHG/2Z4vj9vN8HEJ56AEKz75L\n"
    "-----END PRIVATE KEY-----\n"
)
"""A key for tests alone, of a kind (SM2) that the library does not know."""
OTHER_KEY = (
    ec.generate_private_key(ec.SECP256R1())
    .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, _PLAIN)
    .decode()
)


class Tokens:
    """What GitHub answers to an App: a token that is another each time, and the issue to whoever has the newest."""

    def __init__(self, *, refuses: frozenset[str] = frozenset(), **grant: Any) -> None:
        self.refuses, self.grant, self.given = refuses, grant, 0

    def __call__(self, asked: Asked) -> Said:
        """An answer."""
        if asked.path == "/app/installations/77/access_tokens":
            self.given += 1
            return Said({"token": f"ghs_{self.given}", "expires_at": "2026-01-01T01:00:00Z", **self.grant}, status=201)
        token = asked.headers["Authorization"].removeprefix("Bearer ")
        return Said({"message": "Bad credentials"}, status=401) if token in self.refuses else Said(issue())


async def asked(
    answer: Any, *, options: Mapping[str, Any] = APP, key: str = RSA_KEY, times: int = 1
) -> tuple[Output | AdapterError, VendorServer, list[str]]:
    """What comes of reading an issue as an App, the server, and what was learned as secret."""
    async with vendor_server(answer) as server, desk(server, credential=key, options=options) as at:
        outcome: Output | AdapterError
        for _ in range(times):
            try:
                outcome = await at.ask("github", "get_issue", {**PLACE, "number": 7})
            except AdapterError as error:
                outcome = error
    return outcome, server, at.learned


async def test_the_key_signs_who_the_app_is() -> None:
    """For ten minutes at most, and from a minute ago: GitHub's clock may be behind. Both secrets are learned."""
    outcome, server, learned = await asked(Tokens())
    assert isinstance(outcome, Output)
    exchange, question = server.asked
    assert (exchange.method, exchange.path) == ("POST", "/app/installations/77/access_tokens")
    proof = exchange.headers["Authorization"].removeprefix("Bearer ")
    claims = jwt.decode(
        proof, _KEY.public_key(), algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
    )
    assert claims == {"iat": NOW - 60, "exp": NOW + 540, "iss": "Iv23liAbCdEf"}
    assert question.headers["Authorization"] == "Bearer ghs_1"
    assert learned == [proof, "ghs_1"]
    assert "PRIVATE KEY" not in f"{exchange.headers}{exchange.body!r}{question.headers}"


async def test_a_token_is_kept_as_long_as_it_is_good() -> None:
    """One exchange for many calls."""
    _, server, _ = await asked(Tokens(), times=3)
    assert [one.method for one in server.asked] == ["POST", "GET", "GET", "GET"]


async def test_a_token_that_is_refused_is_exchanged_once() -> None:
    """And then the connection needs a person."""
    outcome, server, _ = await asked(Tokens(refuses=frozenset({"ghs_1"})))
    assert isinstance(outcome, Output)
    assert [one.method for one in server.asked] == ["POST", "GET", "POST", "GET"]
    outcome, server, _ = await asked(Tokens(refuses=frozenset({"ghs_1", "ghs_2", "ghs_3"})))
    assert isinstance(outcome, AdapterError)
    assert outcome.kind is ErrorKind.NEEDS_AUTHORISATION
    assert len(server.asked) == 4


@pytest.mark.parametrize("key", [RSA_KEY.replace("\n", "\\n"), "\n" + RSA_KEY + "\n", RSA_KEY.replace("\n", "\r\n")])
async def test_a_key_is_taken_however_its_lines_are_broken(key: str) -> None:
    """An environment's variable often has none."""
    assert isinstance((await asked(Tokens(), key=key))[0], Output)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, RSA_KEY),
        (APP, OTHER_KEY),
        (APP, UNKNOWN_CURVE),
        (APP, "-----BEGIN RSA PRIVATE KEY-----\nnonsense\n-----END RSA PRIVATE KEY-----"),
        (APP, "-----BEGIN "),
        (APP, "-----BEGIN PRIVATE KEY----- \ud800"),
    ],
)
async def test_a_key_that_cannot_sign_needs_a_person(options: Mapping[str, Any], key: str) -> None:
    """Nothing is asked, and nothing of the key is told."""
    outcome, server, _ = await asked(Tokens(), options=options, key=key)
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert "BEGIN" not in f"{outcome} {outcome.__cause__}"
    assert not server.asked


@pytest.mark.parametrize("status", [401, 403, 404, 422])
async def test_an_app_that_github_does_not_know_needs_a_person(status: int) -> None:
    """It is not the repository that is not found."""
    outcome, _, _ = await asked(Said({"message": "Integration not found"}, status=status))
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


async def test_a_limit_of_the_exchange_is_a_limit() -> None:
    """Nobody has to do anything but wait."""
    outcome, _, _ = await asked(Said({"message": "secondary rate limit"}, status=403))
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.retry_after_seconds) == (ErrorKind.RATE_LIMITED, 60.0)


@pytest.mark.parametrize("token", [None, "", 7, []])
async def test_an_answer_without_a_token_is_malformed(token: Any) -> None:
    """And nothing was done to the world."""
    outcome, _, _ = await asked(Tokens(token=token))
    assert isinstance(outcome, AdapterError)
    assert (outcome.kind, outcome.happened) == (ErrorKind.MALFORMED, Happened.NO)


@pytest.mark.parametrize("end", [None, "soon", 7, "2026-01-01T01:00:00", "9999-99-99T00:00:00Z"])
async def test_a_token_whose_end_cannot_be_read_is_used(end: Any) -> None:
    """For a short while."""
    outcome, _, _ = await asked(Tokens(expires_at=end), times=2)
    assert isinstance(outcome, Output)


def test_a_private_key_is_told_from_a_token() -> None:
    """By how it begins."""
    assert is_private_key("\n" + RSA_KEY)
    assert not any(is_private_key(token) for token in ("", "ghp_abc", "github_pat_11AA", "BEGIN"))


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 0),
        (APP, 0),
        ({"app_id": 12345, "installation_id": "77"}, 0),
        ({"app_id": 12345}, 1),
        ({"installation_id": 1}, 1),
        ({"app_id": "x", "installation_id": "../1"}, 2),
        ({"app_id": None, "installation_id": True}, 2),
    ],
)
def test_the_options_of_an_app_are_two_numbers(options: dict[str, Any], count: int) -> None:
    """Both or neither."""
    assert len(option_problems(Target(name="c", options=options))) == count
