"""GitHub's own description becomes rows, every one of which the registry takes."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from vendors.descriptions.sources import GITHUB, SLACK, STRIPE, Source

from adapters.base import Adapter
from adapters.installed import build_adapters
from gateway.arguments.schema import compile_schema
from gateway.cli.importing import refusal
from gateway.importing.manifest import written
from gateway.importing.names import as_seen
from gateway.importing.proposing import Proposal, Wishes, propose
from gateway.importing.reading import read_description
from gateway.registry.loader import load_registry
from gateway.registry.making import Maker
from gateway.settings.load import Settings

COUNTS = {"github": (1209, 14), "stripe": (438, 14), "slack": (174, 0)}
"""Proposed and skipped."""


def adapters() -> dict[str, Adapter]:
    """Every installed adapter, of which one makes operations of rows."""
    return build_adapters(FakeClock())


def proposal_of(source: Source, name: str) -> Proposal:
    """What is proposed of a vendor's description."""
    maker = Maker(adapters=adapters(), settings=Settings(), compile_schema=compile_schema)
    wishes = Wishes(connection=name, tenant="acme")
    document = read_description(source.file)
    return propose(document, wishes, compile_schema=compile_schema, refusal=lambda row: refusal(maker, row))


@pytest.mark.parametrize(("source", "name"), [(GITHUB, "github"), (STRIPE, "stripe"), (SLACK, "slack")])
def test_every_proposed_row_is_one_that_the_registry_takes(source: Source, name: str, tmp_path: Path) -> None:
    """All of them together, read from the file that was written; and nothing is lost without a reason."""
    proposal = proposal_of(source, name)
    assert (len(proposal.tools), len(proposal.skipped)) == COUNTS[name]
    file = tmp_path / "rows.yaml"
    file.write_text(written(proposal, source=source.file.name), "utf-8")
    loaded = load_registry([file], adapters=adapters(), settings=Settings(), compile_schema=compile_schema)
    assert [str(problem) for problem in loaded.problems if not problem.is_warning] == []
    assert loaded.catalogue is not None
    assert len(loaded.catalogue.tools) == COUNTS[name][0]


def test_every_operation_of_githubs_is_proposed_or_has_a_reason() -> None:
    """1,223 of them, under names that nobody mistakes for one another."""
    described = json.loads(GITHUB.file.read_text("utf-8"))
    methods = ("get", "put", "post", "delete", "patch")
    every = {
        f"{method.upper()} {path}" for path, item in described["paths"].items() for method in item if method in methods
    }
    proposal = proposal_of(GITHUB, "github")
    told = [one.operation for one in (*proposal.tools, *proposal.skipped)]
    assert sorted(told) == sorted(every)
    assert len(every) == 1223
    assert len({as_seen(tool.row["name"]) for tool in proposal.tools}) == len(proposal.tools)
    assert all(one.reason for one in proposal.skipped)


def test_a_second_import_and_a_changed_document_rename_nothing() -> None:
    """With an operation in front that was not there, and without a third of the others."""
    described: dict[str, Any] = json.loads(GITHUB.file.read_text("utf-8"))
    wishes = Wishes(connection="github", tenant="acme")

    def names(paths: dict[str, Any]) -> dict[str, str]:
        made = propose({**described, "paths": paths}, wishes, compile_schema=compile_schema, refusal=lambda _row: "")
        return {tool.operation: tool.row["name"] for tool in made.tools}

    paths = described["paths"]
    whole = names(paths)
    assert names(dict(reversed(paths.items()))) == whole
    fewer = {path: item for number, (path, item) in enumerate(paths.items()) if number % 3}
    new = {"/aaa": {"get": {"operationId": "issues/aaa", "responses": {}}}}
    assert names({**new, **fewer}).items() - {("GET /aaa", "github_issues_aaa")} <= whole.items()
