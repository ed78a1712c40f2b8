"""`registry import upstream` proposes what an upstream offers, pinned, and applies nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.offering import OfferingAdapter, offer

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.recipes import Offer
from gateway.arguments.schema import compile_schema
from gateway.cli import offering
from gateway.cli.root import run
from gateway.documents import documents_of
from gateway.registry.making import Maker
from gateway.settings.load import Settings

CONNECTIONS = "connections:\n  - {name: docs, tenant: acme, vendor: making}\n"


class Described(OfferingAdapter):
    """Also reads what a file says: a name in each line."""

    def offers_in(self, description: bytes) -> Sequence[Offer]:
        """Them. Raises ValueError for an empty one."""
        if not description:
            raise ValueError("it is empty")
        return [offer(name) for name in description.decode().split()]


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> OfferingAdapter:
    """What is behind the connection."""
    adapter = Described(offer("search"), offer("Search"), offer("read", problems=("It is there twice.",)), offer("go"))

    def made_of(settings: Settings) -> Any:
        adapters: dict[str, Any] = {"making": adapter}
        return Maker(adapters=adapters, settings=settings, compile_schema=compile_schema), adapters

    monkeypatch.setattr(offering, "made_of", made_of)
    return adapter


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The connection's."""
    file = tmp_path / "docs.yaml"
    file.write_text(CONNECTIONS)
    return file


def test_everything_that_a_tool_can_be_made_of_is_proposed(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What looks alike is told apart, and what cannot be used is said."""
    assert run(["registry", "import", "upstream", "docs", str(manifest), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {one["upstream"]: one["name"] for one in told["tools"]}
    assert names["go"] == "docs_go"
    assert len({names["search"], names["Search"], "docs_search"}) == 3
    assert [one["upstream"] for one in told["skipped"]] == ["read"]


def test_what_is_written_is_a_manifest_to_review(
    upstream: OfferingAdapter, manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every row loads, and nothing is written over."""
    out = tmp_path / "tools.yaml"
    asked = ["registry", "import", "upstream", "docs", str(manifest), "--only", "go", "--out", str(out)]
    assert run(asked) == 0
    assert [row["name"] for row in documents_of(out.read_text(), "x")[0].value["tools"]] == ["docs_go"]
    assert "# review: guessed from what the upstream says of itself" in out.read_text()
    assert run(asked) == 2
    assert "--force" in capsys.readouterr().err


def test_a_file_may_describe_what_says_nothing_of_itself(
    upstream: OfferingAdapter, manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is asked then."""
    described = tmp_path / "service.binpb"
    described.write_text("one two")
    asked = ["registry", "import", "upstream", "docs", str(manifest), "--json", "--descriptors"]
    assert run([*asked, str(described)]) == 0
    assert [one["upstream"] for one in json.loads(capsys.readouterr().out)["tools"]] == ["one", "two"]
    assert upstream.credentials == []
    described.write_text("")
    assert run([*asked, str(described)]) == 2
    assert "it is empty" in capsys.readouterr().err


def test_an_upstream_that_does_not_answer_is_an_error(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence says why."""
    upstream.failure = AdapterError(ErrorKind.UNAVAILABLE, "It is away.", happened=Happened.NO)
    assert run(["registry", "import", "upstream", "docs", str(manifest)]) == 2
    assert "It is away." in capsys.readouterr().err


def test_when_nothing_can_be_proposed_the_exit_code_says_so(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reasons."""
    assert run(["registry", "import", "upstream", "docs", str(manifest), "--only", "read"]) == 1
    assert "It is there twice." in capsys.readouterr().err


def test_the_connection_has_to_be_there_once(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else nobody could say whose credential it is."""
    assert run(["registry", "import", "upstream", "none", str(manifest)]) == 2
    assert "they have: docs" in capsys.readouterr().err
    manifest.write_text(CONNECTIONS + "  - {name: docs, tenant: other, vendor: making}\n")
    assert run(["registry", "import", "upstream", "docs", str(manifest)]) == 2
    assert "several tenants" in capsys.readouterr().err
