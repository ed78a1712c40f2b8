"""Vendors that nobody here wrote, as the demo runs them: on loopback, with the keys that they were given."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.demo import emulators
from gateway.cli.demo.emulators import EMULATE, LOCALSTRIPE, Emulate, LocalStripe, bring, emulate, localstripe
from gateway.cli.demo.packages import Absent, node_packages, version_of
from gateway.cli.demo.refund.shop import Keys, seed

KEYS = Keys(stripe="sk_test_a", linear="lin_api_b", slack="xoxb-c")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulate]:
    """Slack and Linear."""
    with emulate(tmp_path_factory.mktemp("emulate"), seed(KEYS)) as running:
        yield running


@pytest.fixture(scope="module")
def stripe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStripe]:
    """Stripe."""
    with localstripe(tmp_path_factory.mktemp("stripe")) as running:
        yield running


def _status(url: str, proof: str, body: bytes | None = None) -> tuple[int, Any]:
    headers = {"Authorization": proof, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_the_pinned_versions_run() -> None:
    """What is installed is what the pins say."""
    data = Path(emulators.__file__).parent
    modules = node_packages(data / "npm" / "emulate")
    assert f"emulate {version_of(modules, 'emulate')}" == EMULATE
    pins = (data / "pip" / "localstripe.txt").read_text().splitlines()
    assert LOCALSTRIPE.replace(" ", "==") in pins


def test_each_service_has_a_port_and_nobody_else_can_reach_it(others: Emulate, stripe: LocalStripe) -> None:
    """All of them on loopback alone."""
    assert set(others.ports) == {"slack", "linear"}
    for port in (*others.ports.values(), stripe.port):
        assert _addresses_of(port) == {"0100007F"}


def _addresses_of(port: int) -> set[str]:
    """The addresses, as the kernel writes them, at which somebody listens on this port."""
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    local = [line[1].split(":") for line in lines if line[3] == "0A"]
    return {address for address, hexadecimal in local if int(hexadecimal, 16) == port}


def test_linear_takes_the_key_that_it_was_given(others: Emulate) -> None:
    """And no other."""
    query = json.dumps({"query": "{teams{nodes{key}}}"}).encode()
    status, told = _status(f"{others.url('linear')}/graphql", KEYS.linear, query)
    assert (status, {"key": "SUP"} in told["data"]["teams"]["nodes"]) == (200, True)
    _, refused = _status(f"{others.url('linear')}/graphql", "lin_api_other", query)
    assert refused.get("errors")


def test_stripe_takes_a_secret_key(stripe: LocalStripe) -> None:
    """And nothing else."""
    assert _status(f"{stripe.url}/v1/customers", f"Bearer {KEYS.stripe}")[0] == 200
    assert _status(f"{stripe.url}/v1/customers", "Bearer other")[0] == 401


def test_what_it_takes_for_proof_is_in_no_file(tmp_path: Path) -> None:
    """Once it runs: until then it is in one that nobody else can read."""
    with emulate(tmp_path, seed(KEYS)):
        texts = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "emulate.log" in texts
    assert not [name for name, text in texts.items() if b"lin_api_b" in text or b"xoxb-c" in text]


def test_without_node_it_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves no file."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Absent, match="Node"):
        bring()
    with pytest.raises(Absent, match="Node"), emulate(tmp_path, seed(KEYS)):
        pass
    assert list(tmp_path.iterdir()) == []
