"""Every write of every vendor behind a whole gateway: a vendor that takes it and does not answer is asked once."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.cases.base import ApiCase
from fakes.cases.every import API_CASES
from fakes.clock import FakeClock
from fakes.served import identity, served, socket_listener
from fakes.vendor import Asked, Said, VendorServer, vendor_server

from adapters.base import SideEffect
from adapters.installed import build_adapters
from gateway.settings.parts import CredentialGrant, NetworkSettings
from gateway.v1 import codes_pb2

_ADAPTERS = build_adapters(FakeClock())
WRITES = [
    case for case in API_CASES if _ADAPTERS[case.adapter].operations[case.operation].side_effect is not SideEffect.READ
]
REFERENCE = "env:VENDOR_CREDENTIAL"


def row_of(case: ApiCase) -> dict[str, Any]:
    """The row that the adapter brings, with little time."""
    rows = yaml.safe_load(files(f"adapters.{case.adapter}").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    (row,) = (row for row in rows if row["binding"]["operation"] == case.operation)
    return {**row, "timeout_ms": 1000}


def parts(folder: Path, case: ApiCase, server: VendorServer) -> dict[str, Any]:
    """A gateway whose agent has this tool alone, over a connection to this server."""
    row, target, here = row_of(case), case.target(server.port), f"127.0.0.1:{server.port}"
    connection = {
        "name": row["binding"]["connection"],
        "tenant": "acme",
        "vendor": case.adapter,
        "hosts": list(target.hosts),
        "options": dict(target.options),
        "credential": REFERENCE,
    }
    scopes = tuple(row["requires"])
    agent = {"name": "helper", "tenant": "acme", "tools": [row["name"]], "scopes": scopes, "roles": ["assistant"]}
    return {
        "rows": {"tools": [row], "connections": [connection], "agents": [agent]},
        "listeners": (socket_listener(folder, identity=identity(scopes=scopes)),),
        "network": NetworkSettings(private_targets=(here,)),
        "credentials": (CredentialGrant(tenant="acme", references=(REFERENCE,), hosts=tuple(target.hosts)),),
    }


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case.name)
async def test_g11_a_write_that_is_answered_too_late_is_made_once(
    case: ApiCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vendor takes it and says nothing within a second. The agent asks three times more with its key: each effect
    was asked for once, and each time it is told the truth, which is that nobody knows.
    """
    monkeypatch.setenv("VENDOR_CREDENTIAL", case.credential)

    def silent(asked: Asked) -> Said:
        return Said(hangs=True) if case.changes(asked) else case.answer(asked)

    async with vendor_server(silent) as server, served(tmp_path, **parts(tmp_path, case, server)) as one:
        arguments = json.dumps(case.arguments(server.port))
        responses = [await one.call(row_of(case)["name"], arguments, key="k") for _ in range(4)]
        lines = one.lines
        effects = [asked.path for asked in server.asked if case.changes(asked)]
    assert len(effects) == 1
    assert {response.error.reason for response in responses} == {codes_pb2.REASON_OUTCOME_UNKNOWN}
    assert len({response.effect_id for response in responses}) == 1
    assert [response.replay for response in responses] == [False, True, True, True]
    assert [(line["outcome"], line.get("replay", False)) for line in lines] == [
        ("unknown", replayed) for replayed in (False, True, True, True)
    ]
