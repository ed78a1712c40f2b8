"""What every implementation of `Signer` does; OpenBao is the real one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from fakes.signing import FakeSigner
from real.bao import Bao, running

from gateway.audit.notes import VerificationKey, signer_of
from gateway.audit.signing import FileSigner, NotSigned, Signer, TransitSigner, make_key
from gateway.clients.vault import VaultClient
from gateway.errors import StartError

T = TypeVar("T")


class Session:
    """`Vault` with a token that a test gives."""

    def __init__(self, token: str) -> None:
        self.token = token

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """Ask with it."""
        return await question(self.token)


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """A real OpenBao with a transit engine and two keys, one of them of another kind."""
    with running(tmp_path_factory.mktemp("bao") / "bao") as bao:
        bao.root.sys.enable_secrets_engine("transit")
        bao.root.secrets.transit.create_key("audit", key_type="ed25519")
        bao.root.secrets.transit.create_key("other", key_type="aes256-gcm96")
        bao.allow("signs", "transit/keys/*", "transit/sign/*", capabilities='"read", "update"')
        yield bao


@pytest.fixture
async def client(bao: Bao) -> AsyncIterator[VaultClient]:
    """The gateway's client."""
    client = VaultClient([bao.address], timeout_seconds=5.0)
    yield client
    client.close()


def _transit(bao: Bao, client: VaultClient, key: str = "audit", policy: str = "signs") -> TransitSigner:
    return TransitSigner(Session(bao.token(policy)), client, mount="transit", key=key, name="gw/audit")


@pytest.fixture(params=["fake", "file", "transit"])
async def signer(request: pytest.FixtureRequest, tmp_path: Path, bao: Bao, client: VaultClient) -> Signer:
    """Each in turn, started."""
    made: Signer
    if request.param == "fake":
        made = FakeSigner()
    elif request.param == "file":
        make_key(tmp_path / "audit.key", "gw/audit", bytes(range(32)))
        made = FileSigner(tmp_path / "audit.key")
    else:
        made = _transit(bao, client)
    await made.start()
    return made


async def test_what_is_signed_verifies_by_the_key_that_is_handed_out(signer: Signer) -> None:
    """As text, for whoever has nothing else; in the order of the texts, and more than one request takes."""
    key = VerificationKey.parsed(str(signer.key))
    texts = [f"text {number}\n" for number in range(150)]
    notes = await signer.sign(texts)
    assert [note.text for note in notes] == texts
    assert all(signer_of(note, [key]) == key for note in notes)
    assert await signer.sign([]) == []


async def test_a_rotated_key_signs_as_before_until_the_next_start(bao: Bao, client: VaultClient) -> None:
    """Whoever verifies has the old key; a restart shows the new one."""
    signer = _transit(bao, client)
    await signer.start()
    bao.root.secrets.transit.rotate_key("audit")
    (note,) = await signer.sign(["text\n"])
    assert signer_of(note, [signer.key]) == signer.key
    again = _transit(bao, client)
    await again.start()
    assert again.key != signer.key
    (note,) = await again.sign(["text\n"])
    assert signer_of(note, [again.key]) == again.key


@pytest.mark.parametrize(("key", "policy"), [("other", "signs"), ("nothing", "signs"), ("audit", "default")])
async def test_a_key_that_cannot_sign_is_told_at_the_start(
    bao: Bao, client: VaultClient, key: str, policy: str
) -> None:
    """Of another kind, not there, or not for us: with what the policy needs."""
    with pytest.raises(StartError, match="has to be an ed25519 key, and the gateway's policy needs read"):
        await _transit(bao, client, key, policy).start()


async def test_a_vault_that_refuses_later_signs_nothing(bao: Bao, client: VaultClient) -> None:
    """In one sentence, without a path or a token."""
    signer = _transit(bao, client)
    await signer.start()
    signer._vault.token = bao.token("default")
    with pytest.raises(NotSigned, match="Vault does not sign: the server does not allow it"):
        await signer.sign(["text\n"])
