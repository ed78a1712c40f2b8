"""Measure the path of a call against a bare gRPC echo, and write `.run/bench.json`.

usage: python tests/bench/run.py [--rounds 5] [--calls 6000] [--quick]

Echo and gateway alternate within one run; figures are medians over the rounds. The load is native (Go,
built here) and every call has a body of its own. A round counts only when the audit holds exactly one
`ok` line, no replay, for each call sent. Machines are noisy: compare ratios, and only within one run.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gateway.cli.demo.daemons import Daemon, opa, opa_binary, valkey
from gateway.v1 import tool_service_pb2 as pb

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
YARDSTICK = HERE / "yardstick"
OUT = ROOT / ".run"
PRODUCT = "/gateway.v1.ToolService/CallTool"
ECHO = "/echo.Echo/Call"
TICKS = os.sysconf("SC_CLK_TCK")
STARTED_AT = time.time()
REVISION = "20260101T000000Z-000000000000"


@dataclass
class Subject:
    """One server under load."""

    name: str
    address: str
    method: str
    process: subprocess.Popen[str]
    token: str = ""
    state: pathlib.Path | None = None
    tool: str = "mail_read"
    rps: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    p50_ms_c1: list[float] = field(default_factory=list)
    steps: dict[str, list[int]] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)

    def forget(self) -> None:
        """What was measured so far does not count."""
        for figures in (self.rps, self.cpu_us, self.p50_ms, self.p99_ms, self.p50_ms_c1):
            figures.clear()
        self.steps.clear()


def build_load(scratch: pathlib.Path) -> pathlib.Path:
    """The native client, built with Go."""
    go = shutil.which("go")
    if go is None:
        sys.exit("make bench needs Go 1.26 or newer on PATH for its native load client; install Go and try again")
    target = scratch / "load"
    subprocess.run([go, "build", "-o", str(target), "."], cwd=HERE / "load", check=True)
    return target


def bodies(tool: str, count: int, first: int, *, with_key: bool) -> Iterator[bytes]:
    """Requests that differ in their arguments, and in their key when they have one."""
    arguments = json.loads((YARDSTICK / "arguments.json").read_text())
    for index in range(first, first + count):
        arguments["meta"]["thread"] = f"t-{index:06d}"
        key = f"bench-{STARTED_AT}-{index}" if with_key else ""
        message = pb.CallToolRequest(tool=tool, arguments_json=json.dumps(arguments).encode(), idempotency_key=key)
        yield message.SerializeToString()


def write_bodies(path: pathlib.Path, messages: Iterator[bytes]) -> None:
    """Each behind its length, as the client reads them."""
    with path.open("wb") as file:
        for message in messages:
            file.write(struct.pack(">I", len(message)) + message)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def fdatasync_p50_ms(directory: pathlib.Path) -> float:
    """How long this machine's disk takes to make 900 bytes durable."""
    times = []
    with (directory / "sync-probe").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 900)
            before = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - before)
    return statistics.median(times) * 1000


class Bench:
    """The servers, the load, and what came of it."""

    def __init__(self, scratch: pathlib.Path, calls: int) -> None:
        self.scratch = scratch
        self.calls = calls
        self.load = build_load(scratch)
        self.sent = 0
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.subjects: list[Subject] = []
        self.daemons: list[Daemon] = []
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        """Short enough for the name of a Unix socket."""

    def start_echo(self, port: int) -> None:
        """The frozen yardstick."""
        address = f"127.0.0.1:{port}"
        self._add(
            Subject(
                name="echo",
                address=address,
                method=ECHO,
                process=self._spawn([str(YARDSTICK / "echo_server.py"), address]),
            )
        )

    def start_gateway(self, name: str, port: int, *flags: str, tool: str = "mail_read") -> None:
        """The product, in a directory of its own."""
        directory = self.scratch / name
        directory.mkdir()
        (directory / "secret").write_text("bench-secret-0123456789")
        (directory / "secret").chmod(0o600)
        key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.private.public_key()))
        (directory / "jwks.json").write_text(json.dumps({"keys": [{**key, "kid": "b", "alg": "ES256"}]}))
        shutil.copytree(HERE / "policy", directory / "policy")
        address = f"127.0.0.1:{port}"
        process = self._spawn([str(HERE / "server.py"), str(directory), address, *flags])
        self._add(
            Subject(
                name=name,
                address=address,
                method=PRODUCT,
                process=process,
                token=self._token(),
                tool=tool,
                state=directory / "state",
            )
        )

    def start_opa(self) -> dict[str, Any]:
        """OPA with the measured policy as a signed bundle; returns the settings that have it asked."""
        binary = opa_binary()
        if binary is None:
            sys.exit("make bench needs OPA for one of its servers; run: make test, which brings it")
        folder = self.scratch / "opa-server"
        folder.mkdir()
        bundle = folder / "bundle.tar.gz"
        subprocess.run(
            [binary, "build", "--bundle", str(HERE / "policy"), "--revision", REVISION, "--output", str(bundle)],
            check=True,
        )
        config = folder / "opa.json"
        resource = {"resource": f"file://{bundle}"}
        config.write_text(json.dumps({"bundles": {"bench": resource}, "status": {"prometheus": True}}))
        socket = self.sockets / "opa.sock"
        self.daemons.append(opa(folder, socket, "--config-file", str(config), binary=binary).start())
        return {"policy": {"opa": {"url": f"unix:{socket}", "bundle": "bench"}}}

    def start_valkey(self) -> dict[str, Any]:
        """Valkey; returns the settings that have it count."""
        folder, socket = self.scratch / "valkey-server", self.sockets / "valkey.sock"
        folder.mkdir()
        self.daemons.append(valkey(folder, socket).start())
        return {"limits": {"redis": {"url": f"unix:{socket}"}}}

    def measure(self, subject: Subject, *, in_flight: int, calls: int) -> None:
        """One round."""
        path = self.scratch / "bodies"
        with_key = subject.tool == "mail_send"
        write_bodies(path, bodies(subject.tool, calls, self.sent, with_key=with_key))
        self.sent += calls
        before = cpu_seconds(subject.process.pid)
        report = self._run_load(subject, path, in_flight, calls)
        spent = cpu_seconds(subject.process.pid) - before
        if report["statuses"] != {"OK": calls}:
            sys.exit(f"{subject.name}: not every call was answered: {report['statuses']}")
        self._check_lines(subject, calls, keep_steps=in_flight == 1)
        if in_flight == 1:
            subject.p50_ms_c1.append(report["p50_ms"])
            return
        subject.rps.append(report["rps"])
        subject.cpu_us.append(spent / calls * 1e6)
        subject.p50_ms.append(report["p50_ms"])
        subject.p99_ms.append(report["p99_ms"])

    def stop(self) -> None:
        """End every server."""
        for subject in self.subjects:
            subject.process.kill()
            subject.process.wait()
        for daemon in self.daemons:
            daemon.stop()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _run_load(self, subject: Subject, path: pathlib.Path, in_flight: int, calls: int) -> dict[str, Any]:
        command = [str(self.load), "-addr", subject.address, "-method", subject.method, "-bodies", str(path)]
        command += ["-n", str(calls), "-c", str(in_flight), "-token", subject.token]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def _check_lines(self, subject: Subject, calls: int, *, keep_steps: bool) -> None:
        """As many `ok` lines, none a replay, as calls were sent since the last look."""
        if subject.state is None:
            return
        ok = 0
        for path in sorted((subject.state / "audit").glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(subject.offsets.get(path.name, 0))
                for raw in file:
                    line = json.loads(raw)
                    ok += line.get("outcome") == "ok" and not line.get("replay")
                    if keep_steps:
                        for step, spent in line.get("steps_us", {}).items():
                            subject.steps.setdefault(step, []).append(spent)
                subject.offsets[path.name] = file.tell()
        if ok != calls:
            sys.exit(f"{subject.name}: {calls} calls were sent and {ok} lines say ok; the round does not count")

    def _spawn(self, arguments: list[str]) -> subprocess.Popen[str]:
        environment = {**os.environ, "RUST_BACKTRACE": "0"}
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"{arguments[0]} did not start")
        return process

    def _add(self, subject: Subject) -> None:
        self.subjects.append(subject)

    def _token(self) -> str:
        claims = {
            "iss": "https://issuer.example",
            "aud": "tollhouse",
            "sub": "bench-1",
            "tenant": "bench",
            "agent": "bench",
            "scope": "mail:send",
            "roles": ["finance"],
            "ip": "10.1.2.3",
            "exp": int(time.time()) + 7200,
        }
        return jwt.encode(claims, self.private, algorithm="ES256", headers={"kid": "b"})


def summary(bench: Bench, sync_ms: float) -> dict[str, Any]:
    """The figures by the names that a reader of `.run/bench.json` looks for."""
    by_name = {subject.name: subject for subject in bench.subjects}
    echo, path = by_name["echo"], by_name["path"]

    def ratio(name: str) -> float:
        """Median of the rounds' own ratios: a round and its neighbour saw the same machine."""
        pairs = zip(by_name[name].rps, echo.rps, strict=True)
        return round(statistics.median(own / other for own, other in pairs), 3)

    def median(values: list[float]) -> float:
        return round(statistics.median(values), 3)

    return {
        "echo_rps_c64": median(echo.rps),
        "path_rps_c64": median(path.rps),
        "ratio_c64": ratio("path"),
        "path_nopolicy_rps_c64": median(by_name["nopolicy"].rps),
        "ratio_nopolicy_c64": ratio("nopolicy"),
        "path_write_rps_c64": median(by_name["write"].rps),
        "path_opa_rps_c64": median(by_name["opa"].rps),
        "ratio_opa_c64": ratio("opa"),
        "path_redis_rps_c64": median(by_name["redis"].rps),
        "ratio_redis_c64": ratio("redis"),
        "path_10000_tools_rps_c64": median(by_name["tools_10000"].rps),
        "echo_p50_ms_c1": median(echo.p50_ms_c1),
        "path_p50_ms_c1": median(path.p50_ms_c1),
        "added_p50_ms_c1": round(statistics.median(path.p50_ms_c1) - statistics.median(echo.p50_ms_c1), 3),
        "fdatasync_p50_ms": round(sync_ms, 3),
        "cpu_us_per_call": {subject.name: round(statistics.median(subject.cpu_us), 1) for subject in bench.subjects},
        "p50_ms_c64": {subject.name: median(subject.p50_ms) for subject in bench.subjects},
        "p99_ms_c64": {subject.name: median(subject.p99_ms) for subject in bench.subjects},
        "step_us_c1": {step: round(statistics.mean(spent), 1) for step, spent in path.steps.items()},
        "rounds": len(echo.rps),
        "calls_per_round": bench.calls,
    }


def show(figures: dict[str, Any], console: Console) -> None:
    """A table for a person."""
    table = Table(title="path of a call against a bare echo, 64 in flight")
    for column in ("server", "CPU µs a call", "p50 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "server" else "right")
    for name, cpu in figures["cpu_us_per_call"].items():
        table.add_row(name, f"{cpu:.0f}", f"{figures['p50_ms_c64'][name]:.1f}", f"{figures['p99_ms_c64'][name]:.1f}")
    console.print(table)
    for name in (
        "ratio_c64",
        "ratio_nopolicy_c64",
        "ratio_opa_c64",
        "ratio_redis_c64",
        "added_p50_ms_c1",
        "fdatasync_p50_ms",
        "step_us_c1",
    ):
        console.print(f"{name}: {figures[name]}", highlight=False)


def start_all(bench: Bench) -> None:
    """The yardstick, and the gateway in six forms."""
    bench.start_echo(7301)
    bench.start_gateway("path", 7302)
    bench.start_gateway("nopolicy", 7303, "--constant-policy")
    bench.start_gateway("write", 7304, tool="mail_send")
    bench.start_gateway("tools_10000", 7305, "--tools", "10000")
    bench.start_gateway("opa", 7306, "--settings", json.dumps(bench.start_opa()))
    bench.start_gateway("redis", 7307, "--settings", json.dumps(bench.start_valkey()))


def measure_all(bench: Bench, rounds: int, progress: Progress) -> None:
    """Every server in every round, in turn. The first round warms them up and does not count."""
    task = progress.add_task("measuring", total=(rounds + 1) * len(bench.subjects))
    for number in range(rounds + 1):
        for subject in bench.subjects:
            bench.measure(subject, in_flight=64, calls=bench.calls if number else 1000)
            bench.measure(subject, in_flight=1, calls=400)
            progress.advance(task)
            if number == 0:
                subject.forget()


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=6000)
    parser.add_argument("--quick", action="store_true", help="two rounds of 2000 calls: to see that it runs")
    options = parser.parse_args()
    rounds, calls = (2, 2000) if options.quick else (options.rounds, options.calls)
    console = Console()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as scratch, Progress(console=console, transient=True) as progress:
        bench = Bench(pathlib.Path(scratch), calls)
        try:
            start_all(bench)
            sync_ms = fdatasync_p50_ms(pathlib.Path(scratch))
            measure_all(bench, rounds, progress)
            figures = summary(bench, sync_ms)
        finally:
            bench.stop()
    (OUT / "bench.json").write_text(json.dumps(figures, indent=1) + "\n")
    show(figures, console)


if __name__ == "__main__":
    main()
