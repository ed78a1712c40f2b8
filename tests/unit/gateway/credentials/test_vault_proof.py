"""What the gateway logs in with, as its files hold it at that moment."""

from pathlib import Path

import pytest
from fakes.vault import FakeVault

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.credentials.vault_proof import Proof, proof_of
from gateway.settings.vault import AppRoleAuth, KubernetesAuth, TokenAuth
from gateway.watched import FileUnusable


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with each file that a login needs."""
    for name in ("role", "secret", "token", "jwt"):
        (tmp_path / name).write_text(f"{name}-1\n")
    return tmp_path


def proofs(files: Path) -> dict[str, Proof]:
    """Each way, by the file that is rotated."""
    ways = {
        "token": TokenAuth(kind="token", token_file=files / "token"),
        "secret": AppRoleAuth(
            kind="approle", mount="team/approle", role_id_file=files / "role", secret_id_file=files / "secret"
        ),
        "jwt": KubernetesAuth(kind="kubernetes", role="gateway", token_file=files / "jwt"),
    }
    return {name: proof_of(auth, lambda: 0.0) for name, auth in ways.items()}


async def test_each_way_sends_what_its_files_hold(files: Path) -> None:
    """To the mount of the settings."""
    vault, ways = FakeVault(), proofs(files)
    for name in ("secret", "jwt"):
        await ways[name].log_in(vault, ways[name].material())  # type: ignore[arg-type]
    assert vault.materials == [("team/approle", "role-1", "secret-1"), ("kubernetes", "gateway", "jwt-1")]


@pytest.mark.parametrize("name", ["secret", "jwt"])
def test_what_was_rotated_is_read_at_once(files: Path, name: str) -> None:
    """A login with what was replaced a moment ago would be refused, and five of those lock the role."""
    proof = proofs(files)[name]
    before = proof.material()
    (files / name).write_text(f"{name}-number-2\n")
    assert proof.material() != before
    assert proof.material()[-1] == f"{name}-number-2"


@pytest.mark.parametrize("name", ["token", "secret", "jwt"])
@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff"])
def test_a_file_without_text_is_no_proof(files: Path, name: str, content: bytes | None) -> None:
    """Nothing is sent."""
    (files / name).unlink()
    if content is not None:
        (files / name).write_bytes(content)
    with pytest.raises(FileUnusable):
        proofs(files)[name].material()


def test_only_tokens_of_our_own_logins_are_ours(files: Path) -> None:
    """Another renews and replaces the one in a file."""
    assert {name: proof.is_ours for name, proof in proofs(files).items()} == {
        "token": False,
        "secret": True,
        "jwt": True,
    }


async def test_a_token_from_a_file_is_looked_at_and_used_in_any_case(files: Path) -> None:
    """Unless nobody answers: then it cannot be told whether there is anybody to use it with."""
    vault, proof = FakeVault(), proofs(files)["token"]
    vault.tokens, vault.token_seconds = {"token-1"}, 60.0
    assert (await proof.log_in(vault, proof.material())).seconds == 60.0  # type: ignore[arg-type]
    vault.tokens = set()
    token = await proof.log_in(vault, proof.material())  # type: ignore[arg-type]
    assert (token.value, token.seconds) == ("token-1", 0.0)
    vault.failure = Trouble.TIMEOUT
    with pytest.raises(VaultFailed):
        await proof.log_in(vault, proof.material())  # type: ignore[arg-type]
