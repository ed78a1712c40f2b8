"""A key set in a file: what holds after the file has changed, broken, or gone."""

import pytest
from fakes.clock import FakeClock
from fakes.tokens import Issuer, key_set

from gateway.errors import StartError, Unauthenticated
from gateway.identity.keys_file import FileKeys
from gateway.watched import LOOK_SECONDS


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return Issuer("k1").publish(tmp_path / "jwks.json")


async def test_the_files_keys_hold(path, clock):
    """The very same object as long as the file is the same."""
    keys = FileKeys(path, clock.monotonic)
    await keys.start()
    assert list(keys.current().keys) == ["k1"]
    first = keys.current()
    clock.advance(LOOK_SECONDS)
    assert keys.current() is first
    assert keys.status().is_ready
    await keys.look_again()
    await keys.stop()


async def test_a_changed_file_holds_within_a_second(path, clock):
    """A removed key is out with it."""
    keys = FileKeys(path, clock.monotonic)
    keys.current()
    other = Issuer("k2")
    other.publish(path)
    clock.advance(LOOK_SECONDS)
    assert keys.current() == key_set(other)


async def test_a_file_that_is_gone_or_garbage_lets_nobody_in(path, clock):
    """Fail closed, say why, and recover when the file is back."""
    keys = FileKeys(path, clock.monotonic)
    for spoil in (lambda: path.write_text("{"), lambda: path.write_text(""), path.unlink):
        Issuer("k1").publish(path)
        clock.advance(LOOK_SECONDS)
        keys.current()
        spoil()
        clock.advance(LOOK_SECONDS)
        for _ in range(2):
            with pytest.raises(Unauthenticated, match=r"jwks\.json"):
                keys.current()
        assert not keys.status().is_ready
        assert "jwks.json" in keys.status().problem
    Issuer("k3").publish(path)
    clock.advance(LOOK_SECONDS)
    assert list(keys.current().keys) == ["k3"]
    assert keys.status().problem == ""


@pytest.mark.parametrize("text", [None, "", "{}", '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'], ids=str)
async def test_a_file_that_cannot_be_used_does_not_start(text, tmp_path, clock):
    """One sentence names the file and what is wrong with it."""
    path = tmp_path / "jwks.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(StartError, match=r"the key set .*jwks\.json"):
        await FileKeys(path, clock.monotonic).start()
