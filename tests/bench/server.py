"""The gateway under measurement: the real one, over an adapter that does nothing.

usage: python server.py DIRECTORY ADDRESS [--constant-policy] [--tools N] [--settings JSON]

DIRECTORY holds `jwks.json`, `secret` and `policy/`; journal and audit are written below it.
"""

import argparse
import asyncio
import pathlib
import sys
from typing import Any, Literal, NotRequired, TypedDict

import orjson
import uvloop
import yaml

from adapters.base import Invocation, Operation, Output, SideEffect, Target
from gateway.app import build_gateway
from gateway.call import Decision, DecisionEffect
from gateway.errors import StartError
from gateway.policy.base import EngineStatus
from gateway.settings.load import load_settings

YARDSTICK = pathlib.Path(__file__).parent / "yardstick"


class Meta(TypedDict, total=False):
    """Part of the measured arguments."""

    thread: str
    source: str
    attempt: int


class Mail(TypedDict):
    """The measured arguments."""

    to: list[str]
    subject: str
    body: str
    amount: NotRequired[float]
    currency: NotRequired[Literal["EUR", "USD", "PLN"]]
    path: NotRequired[str]
    priority: NotRequired[Literal["low", "normal", "high"]]
    tags: NotRequired[list[str]]
    dry_run: NotRequired[bool]
    meta: NotRequired[Meta]


def _prepare(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "recipients": sorted({address.lower() for address in arguments["to"]})}


async def _do_nothing(invocation: Invocation) -> Output:
    """What the echo does: the arguments go back."""
    return Output(structured=dict(invocation.arguments), receipt="Nothing was done.")


class NoOp:
    """An adapter whose vendor is nobody."""

    name = "noop"

    open_circuits = 0

    def __init__(self) -> None:
        self.operations = {
            name: Operation(
                name=name,
                arguments=Mail,
                side_effect=effect,
                prepare=_prepare,
                invoke=_do_nothing,
                needs_credential=True,
            )
            for name, effect in (("read", SideEffect.READ), ("send", SideEffect.SEND))
        }

    def check_target(self, target: Target) -> list[str]:
        """Every target will do."""
        return []

    async def close(self) -> None:
        """Nothing to let go of."""


class ConstantEngine:
    """The policy step replaced by a constant."""

    name = "constant"
    revision = "sha256:constant"
    _decision = Decision(effect=DecisionEffect.ALLOW, reasons=(), obligations=(), revision=revision)

    async def start(self) -> None:
        """Nothing to load."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    def status(self) -> EngineStatus:
        """Always ready."""
        return EngineStatus(is_ready=True, revision=self.revision)

    async def decide(self, input_json: bytes) -> Decision:
        """Allow."""
        return self._decision


def write_project(directory: pathlib.Path, address: str, tools: int, others: dict[str, Any]) -> pathlib.Path:
    """Settings and registry of the gateway; returns the settings' path. `others` are settings beside the usual."""
    schema = orjson.loads((YARDSTICK / "input_schema.json").read_bytes())
    schema.pop("$schema")
    schema["properties"]["meta"]["additionalProperties"] = False

    def row(name: str, operation: str) -> dict[str, Any]:
        return {
            "name": name,
            "description": "Sends a mail to nobody.",
            "input_schema": schema,
            "requires": ["mail:send"],
            "side_effect": operation,
            "idempotency": "optional",
            "surfaces": ["grpc"],
            "binding": {"adapter": "noop", "operation": operation, "connection": "noop"},
        }

    rows = [row("mail_read", "read"), row("mail_send", "send")]
    little = {"type": "object", "additionalProperties": False, "required": ["to", "subject", "body"]}
    little["properties"] = {name: schema["properties"][name] for name in ("to", "subject")}
    little["properties"] |= {"body": {"type": "string", "maxLength": 200}}
    rows += [row(f"other_{index}", "read") | {"input_schema": little} for index in range(tools - len(rows))]
    agents = [{"name": "bench", "tools": [one["name"] for one in rows]}]
    agents += [{"name": f"agent_{index}", "tools": ["mail_read"]} for index in range(tools // 10)]
    for agent in agents:
        agent |= {"tenant": "bench", "scopes": ["mail:send"], "roles": ["finance"]}
        agent["grants"] = {"mail_read": {}, "mail_send": {}}
    folder = directory / "registry"
    folder.mkdir()
    for first in range(0, tools, 1000):
        (folder / f"tools-{first:05d}.json").write_bytes(orjson.dumps({"tools": rows[first : first + 1000]}))
    registry = {
        "connections": [
            {
                "name": "noop",
                "tenant": "bench",
                "vendor": "noop",
                "hosts": ["vendor.example"],
                "credential": f"file:{directory.resolve() / 'secret'}",
            }
        ],
        "agents": agents,
    }
    (folder / "others.json").write_bytes(orjson.dumps(registry))
    settings: dict[str, Any] = {
        "state_dir": "state",
        "listeners": [
            {
                "name": "bench",
                "address": address,
                "identity": {
                    "kind": "jwt",
                    "issuer": "https://issuer.example",
                    "audience": "tollhouse",
                    "jwks_file": "jwks.json",
                },
            }
        ],
        "registry": {"paths": ["registry"]},
        "policy": {"paths": ["policy"]},
        "credentials": [
            {"tenant": "bench", "references": [f"file:{directory.resolve() / 'secret'}"], "hosts": ["vendor.example"]}
        ],
        "limits": {
            "caller": {"per_minute": 60_000_000, "burst": 1_000_000},
            "tenant": {"per_minute": 60_000_000, "burst": 1_000_000},
            "agent": {"per_minute": 60_000_000, "burst": 1_000_000},
        },
        "log_level": "error",
    }
    if "policy" in others:
        settings["policy"] = others["policy"]
    settings["limits"] |= others.get("limits", {})
    path = directory / "tollhouse.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


async def serve(arguments: argparse.Namespace) -> None:
    """Run until killed."""
    path = write_project(arguments.directory, arguments.address, arguments.tools, arguments.settings)
    engine = ConstantEngine() if arguments.constant_policy else None
    gateway = build_gateway(load_settings(path), adapters={"noop": NoOp()}, engine=engine)
    await gateway.start()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("address")
    parser.add_argument("--constant-policy", action="store_true")
    parser.add_argument("--tools", type=int, default=10)
    parser.add_argument("--settings", type=orjson.loads, default={}, help="policy and limits, as JSON")
    try:
        uvloop.run(serve(parser.parse_args()))
    except StartError as error:
        sys.exit("\n".join((error.message, *error.problems[:20])))
