"""What is said to a mail server to sign in."""

import base64
from typing import Any

import pytest

from adapters.base import Invocation, Secret, Target
from adapters.email.account import read_account
from adapters.email.proof import plain, tell, xoauth2


def learned(credential: Secret | None, **options: Any) -> list[str]:
    """What an invocation learns."""
    told: list[str] = []
    reading = {"imap_host": "localhost", "imap_port": 143, "imap_tls": "none", "username": "bot"}
    target = Target(name="mail", hosts=("localhost",), options=reading | options)
    invocation = Invocation(
        arguments={},
        target=target,
        credential=credential,
        deadline=1.0,
        effect_id="eff_1",
        learn=lambda secret: told.append(secret.reveal()),
    )
    tell(invocation, read_account(target))
    return told


def test_proofs_are_those_of_sasl() -> None:
    """In base64."""
    assert base64.b64decode(plain("bot", "pässword")) == b"\0bot\0" + "pässword".encode()
    assert base64.b64decode(xoauth2("bot", "ya29")) == b"user=bot\x01auth=Bearer ya29\x01\x01"


def test_whatever_goes_over_the_wire_is_learned() -> None:
    """So that it is taken out of an answer like the credential itself."""
    assert learned(Secret("hunter2")) == [plain("bot", "hunter2"), base64.b64encode(b"hunter2").decode()]
    assert learned(Secret("ya29"), auth="xoauth2") == [xoauth2("bot", "ya29")]


@pytest.mark.parametrize("credential", [None, Secret("")])
def test_of_nothing_nothing_is_made(credential: Secret | None) -> None:
    """There is nothing to learn."""
    assert learned(credential) == []


def test_half_a_character_is_no_crash() -> None:
    """Such a credential is refused later, in words."""
    assert len(learned(Secret("\ud800"))) == 2
