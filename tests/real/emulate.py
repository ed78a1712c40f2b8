"""GitHub, Slack, Google, Stripe and Linear as `emulate` of npm imitates them: servers that keep state, in one process.

Every repository, channel, team and so on that it begins with stands in `npm/emulate/seed.json`. Any number of tests
may share it: each makes what it changes.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.cli.demo import emulators
from gateway.cli.demo.daemons import Daemon

DATA = Path(__file__).parent / "npm" / "emulate"
VERSION = emulators.EMULATE
SERVICES = ("github", "slack", "google", "stripe", "linear")
TOKENS = {
    "github": "test_token_admin",
    "slack": "xoxb-local-test",
    "google": "ya29.local-test",
    "stripe": "sk_test_local",
    "linear": "lin_test_admin",
}
"""What each takes for its bearer's proof."""


@dataclass(frozen=True)
class Emulate:
    """Where its services are."""

    ports: dict[str, int]
    daemon: Daemon
    app_key: str = field(repr=False)
    """Of the GitHub App 12345, whose installation at `acme` is 100: a private RSA key as PEM."""

    def port(self, service: str) -> int:
        """Of one of `SERVICES`, on 127.0.0.1."""
        return self.ports[service]

    def url(self, service: str) -> str:
        """Without a slash at the end."""
        return f"http://127.0.0.1:{self.ports[service]}"


@contextlib.contextmanager
def emulate(folder: Path) -> Iterator[Emulate]:
    """All services, with their log in the folder, for the length of the block."""
    app_key = _private_key()
    with emulators.emulate(folder, _seed(app_key)) as running:
        yield Emulate(dict(running.ports), running.daemon, app_key)


def _seed(app_key: str) -> dict[str, object]:
    seed = json.loads((DATA / "seed.json").read_text())
    (app,) = seed["github"]["apps"]
    app["private_key"] = app_key
    return dict(seed)


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
