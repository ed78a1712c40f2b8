"""The composition root: all of it, or a sentence and nothing."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.adapter import FakeAdapter
from fakes.packs import ALLOW_ALL, ENDLESS, write_pack
from fakes.path import registry_rows
from fakes.served import asked, channel_to, lines_in, served, settings_in, socket_listener

from gateway.app import build_gateway, built_in_rows, install_adapters, load_rows, run
from gateway.clock import SystemClock
from gateway.errors import StartError
from gateway.settings.listeners import FixedIdentity, JwtIdentity, Listener, NoIdentity
from gateway.settings.load import Settings, default_settings
from gateway.settings.parts import NetworkSettings, RegistrySettings
from gateway.settings.policy import PolicySettings
from gateway.v1 import tool_service_pb2_grpc as rpc


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """A gateway sets the collector as its process needs it; other tests want theirs."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


async def test_a_gateway_says_what_it_is(tmp_path: Path) -> None:
    """Listeners with who they serve, tools, agents, connections, policy, state; no secret."""
    async with served(tmp_path) as one:
        said = one.gateway.describe()
        (listening,) = said.listeners
        assert listening.address == f"unix:{tmp_path / 'g.sock'}"
        assert listening.services == ("tool",)
        assert listening.identity == "agent helper of acme (whoever can open the socket)"
        assert {tool.name for tool in said.tools} == {tool["name"] for tool in registry_rows()["tools"]}
        assert [agent.name for agent in said.agents] == ["helper"]
        assert (said.policy_engine, said.recovered_calls, said.state_dir) == ("fake", 0, tmp_path / "state")


async def test_no_identity_is_called_what_it_is(tmp_path: Path) -> None:
    """The screen of a development listener warns whoever reads it."""
    identity_of_none = NoIdentity(kind="none", tenant="acme", agent="helper")
    listeners = (Listener(name="dev", address="127.0.0.1:0", identity=identity_of_none),)
    async with served(tmp_path, listeners=listeners) as one:
        assert one.gateway.describe().listeners[0].identity == "agent helper of acme (anybody on this machine)"


async def test_rows_that_do_not_load_start_nothing(tmp_path: Path) -> None:
    """Every problem is told, and no socket is opened."""
    rows = registry_rows()
    rows["tools"] = [{**rows["tools"][0], "requires": None}, {**rows["tools"][1], "side_effect": "read"}]
    with pytest.raises(StartError) as caught:
        build_gateway(settings_in(tmp_path, rows), adapters={"fake": FakeAdapter()})
    assert len(caught.value.problems) >= 2
    assert not (tmp_path / "g.sock").exists()


@pytest.mark.parametrize("content", ["package tollhouse\n\nimport rego.v1\n\ndecision := {\n", None])
async def test_a_policy_that_does_not_load_starts_nothing(tmp_path: Path, content: str | None) -> None:
    """Broken or absent: no listener, no state that is held."""
    folder = tmp_path / "policy"
    folder.mkdir()
    if content is not None:
        (folder / "decision.rego").write_text(content)
    settings = settings_in(tmp_path, policy=PolicySettings(paths=(folder,)))
    gateway = build_gateway(settings, adapters={"fake": FakeAdapter()})
    with pytest.raises(StartError) as caught:
        await gateway.start()
    assert "the policy does not load" in caught.value.message
    assert not (tmp_path / "g.sock").exists()


async def test_a_policy_that_is_slow_on_a_tool_starts_nothing(tmp_path: Path) -> None:
    """It is timed on what each tool of the registry admits, and the tool is named."""
    folder = write_pack(tmp_path / "policy", ALLOW_ALL)
    settings = settings_in(tmp_path, policy=PolicySettings(paths=(folder,), max_decision_ms=0.0001))
    with pytest.raises(StartError) as caught:
        await build_gateway(settings, adapters={"fake": FakeAdapter()}).start()
    said = " ".join(caught.value.problems)
    assert all(f"too_slow: tool {tool['name']}:" in said for tool in registry_rows()["tools"])


async def test_a_policy_that_never_ends_does_not_hang_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start ends with a sentence, and the loop lives meanwhile."""
    monkeypatch.setattr("gateway.policy.candidate.TRIAL_SECONDS", 1.0)
    settings = settings_in(tmp_path, policy=PolicySettings(paths=(write_pack(tmp_path / "policy", ENDLESS),)))
    starting = asyncio.create_task(build_gateway(settings, adapters={"fake": FakeAdapter()}).start())
    beats = 0
    while not starting.done():
        await asyncio.sleep(0.01)
        beats += 1
    with pytest.raises(StartError) as caught:
        await starting
    assert "too_slow: it did not end within 1 s" in caught.value.problems[0]
    assert beats > 20


async def test_a_listener_that_cannot_start_lets_go_of_everything(tmp_path: Path) -> None:
    """The state directory is free for the next gateway, the adapters are closed."""
    (tmp_path / "g.sock").write_text("in the way")
    adapter = FakeAdapter()
    with pytest.raises(StartError, match="is not a socket"):
        async with served(tmp_path, adapter=adapter):
            pass
    assert adapter.is_closed
    (tmp_path / "g.sock").unlink()
    async with served(tmp_path) as one:
        assert (await one.call()).HasField("result")


async def test_two_gateways_do_not_share_a_state_directory(tmp_path: Path) -> None:
    """The second is refused and the first goes on."""
    async with served(tmp_path) as one:
        other = settings_in(tmp_path, listeners=(socket_listener(tmp_path, address=f"unix:{tmp_path / 'h.sock'}"),))
        second = build_gateway(other, adapters={"fake": FakeAdapter()})
        with pytest.raises(StartError):
            await second.start()
        assert (await one.call()).HasField("result")
        assert not (tmp_path / "h.sock").exists()


async def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    """And closes every adapter."""
    adapter = FakeAdapter()
    async with served(tmp_path, adapter=adapter) as one:
        await one.gateway.stop()
        await one.gateway.stop()
    assert adapter.is_closed


async def test_the_built_in_policy_lets_nobody_change_anything_by_default(tmp_path: Path) -> None:
    """Without a grant a write is denied, though the agent sees the tool and holds its scopes."""
    gateway = build_gateway(settings_in(tmp_path), adapters={"fake": FakeAdapter()})
    await gateway.start()
    try:
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            await rpc.ToolServiceStub(channel).CallTool(asked("note", '{"path":"a"}', key="k"), timeout=20)
        (line,) = lines_in(tmp_path)
        assert (line["outcome"], line["policy_reasons"]) == ("permission_denied", ["not_granted"])
    finally:
        await gateway.stop()


async def test_plain_settings_show_the_default_agent_nothing(tmp_path: Path) -> None:
    """No rows: tools of the adapters are there, and no agent sees one."""
    gateway = build_gateway(default_settings(tmp_path / "state"))
    await gateway.start()
    assert gateway.describe().agents == ()
    assert isinstance(default_settings().listeners[0].identity, FixedIdentity)
    await gateway.stop()


async def test_run_ends_in_order_on_sigterm(tmp_path: Path) -> None:
    """It is ready, then told to end, and removes its socket."""
    registry = tmp_path / "empty.yaml"
    registry.write_text("tools: []\n")
    settings = settings_in(tmp_path, registry=RegistrySettings(paths=(registry,)))
    ready: list[str] = []

    def on_ready(gateway: object) -> None:
        ready.append("ready")
        assert (tmp_path / "g.sock").exists()
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)

    await asyncio.wait_for(run(settings, on_ready), 30)
    assert ready == ["ready"]
    assert not (tmp_path / "g.sock").exists()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().remove_signal_handler(number)


@pytest.fixture
def issuer() -> Iterator[socket.socket]:
    """Somebody who takes connections and never answers: a start waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.setblocking(False)
        yield taken


@pytest.fixture
def signals() -> Iterator[None]:
    """What a test's signals did before."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number in numbers:
        signal.signal(number, before[number])


def _waiting_for(issuer: socket.socket, folder: Path) -> Settings:
    url = f"http://127.0.0.1:{issuer.getsockname()[1]}/keys"
    identity = JwtIdentity(kind="jwt", issuer="https://i", audience="t", jwks_url=url)
    listener = Listener(name="tokens", address="127.0.0.1:0", identity=identity)
    return settings_in(folder, listeners=(listener, socket_listener(folder)), registry=RegistrySettings())


@pytest.mark.usefixtures("signals")
async def test_sigterm_while_it_starts_ends_it_at_once(tmp_path: Path, issuer: socket.socket) -> None:
    """It does not wait for whom the start waits for; nobody hears that it is ready, and the state is free."""
    loop, ready = asyncio.get_running_loop(), list[object]()
    running = asyncio.create_task(run(_waiting_for(issuer, tmp_path), ready.append))
    taken, _ = await asyncio.wait_for(loop.sock_accept(issuer), 10)
    with taken:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(running, 2)
    assert ready == []
    async with served(tmp_path) as one:
        assert (await one.call()).HasField("result")


@pytest.mark.usefixtures("signals")
async def test_sighup_while_it_starts_is_not_forgotten(tmp_path: Path, issuer: socket.socket) -> None:
    """It does not end the process, and what changed meanwhile is read as soon as the gateway runs."""
    loop, asked, settings = asyncio.get_running_loop(), asyncio.Event(), _waiting_for(issuer, tmp_path)

    def reread() -> Settings:
        loop.call_soon_threadsafe(asked.set)
        return settings

    running = asyncio.create_task(run(settings, lambda _: None, reread=reread))
    taken, _ = await asyncio.wait_for(loop.sock_accept(issuer), 10)
    os.kill(os.getpid(), signal.SIGHUP)
    taken.close()
    await asyncio.wait_for(asked.wait(), 10)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(running, 10)


async def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path, issuer: socket.socket) -> None:
    """Whoever runs a gateway may give up in the middle."""
    loop = asyncio.get_running_loop()
    gateway = build_gateway(_waiting_for(issuer, tmp_path))
    starting = asyncio.create_task(gateway.start())
    taken, _ = await asyncio.wait_for(loop.sock_accept(issuer), 10)
    with taken:
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await gateway.stop()


def test_the_rows_that_adapters_bring_load(tmp_path: Path) -> None:
    """With no registry in the settings every installed adapter's own rows are there."""
    settings = default_settings(tmp_path)
    adapters = install_adapters(settings, SystemClock())
    bring = [name for name, adapter in adapters.items() if adapter.operations]
    assert {f"adapters/{name}/tools.yaml" for name in bring} == set(built_in_rows(adapters))
    loaded = load_rows(settings, adapters)
    assert loaded.catalogue is not None
    assert loaded.catalogue.tools


def test_importing_the_gateway_writes_nothing_and_warns_of_nothing(tmp_path: Path) -> None:
    """Nothing happens at import: no file, no word, no socket."""
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", "import gateway.app"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"nonsense", "no certificates")])
def test_authorities_that_cannot_be_used_start_nothing(content: bytes | None, why: str, tmp_path: Path) -> None:
    """One sentence names the setting."""
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    settings = Settings(network=NetworkSettings(ca_file=file))
    with pytest.raises(StartError, match=why):
        install_adapters(settings, SystemClock())
