"""`registry review` shows what changed behind tools, and writes the row that accepts it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.offering import OfferingAdapter, offer

from gateway.arguments.schema import compile_schema
from gateway.cli import review
from gateway.cli.root import run
from gateway.documents import documents_of
from gateway.registry.making import Maker
from gateway.settings.load import Settings

MANIFEST = """\
connections:
  - {name: docs, tenant: acme, vendor: making}
tools:
  # What people search by.
  - name: docs_search
    version: "3"
    description: Searches.
    input_schema: {type: object, additionalProperties: false}
    requires: []
    side_effect: read
    surfaces: [grpc]
    binding: {adapter: making, operation: say, connection: docs, options: {word: search}}
  - name: docs_read
    description: Reads.
    input_schema: {type: object, additionalProperties: false}
    requires: []
    side_effect: read
    surfaces: [grpc]
    binding: {adapter: making, operation: say, connection: docs, options: {word: read}}
"""
Review = Callable[..., tuple[int, Any]]


class Pinning(OfferingAdapter):
    """Takes rows that have a pin."""

    def make(self, recipe: Any) -> Any:
        """As ever, whatever the pin is."""
        options = {key: value for key, value in recipe.options.items() if key != "pin"}
        return super().make(type(recipe)(**{**{n: getattr(recipe, n) for n in recipe.__slots__}, "options": options}))


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> OfferingAdapter:
    """What is behind the manifest's connection."""
    adapter = Pinning()

    def made_of(settings: Settings) -> Any:
        adapters: dict[str, Any] = {"making": adapter}
        return Maker(adapters=adapters, settings=settings, compile_schema=compile_schema), adapters

    monkeypatch.setattr(review, "made_of", made_of)
    return adapter


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The rows."""
    file = tmp_path / "docs.yaml"
    file.write_text(MANIFEST)
    return file


def reviewed(manifest: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, str]]:
    """The exit code, and how each tool stands."""
    code = run(["registry", "review", str(manifest), "--json", *options])
    text = capsys.readouterr().out
    found = json.loads(text)["findings"] if text.startswith("{") else []
    return code, {one["tool"] or one["upstream"]: one["standing"] for one in found}


def pinned(name: str, digest: str, **changes: Any) -> Any:
    """An offer whose digest a row pins."""
    return offer(name, digest, options={"word": name, "pin": digest}, **changes)


def test_what_is_not_pinned_waits(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code says so to whoever runs it by night."""
    upstream.offered = [pinned("search", "sha256:1"), pinned("new", "sha256:2")]
    assert reviewed(manifest, capsys) == (1, {"docs_search": "changed", "docs_read": "gone", "new": "new"})
    assert upstream.is_closed


def test_what_was_accepted_is_pinned_and_waits_no_more(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both rows of one file; what is beside them stays."""
    upstream.offered = [pinned("search", "sha256:1"), pinned("read", "sha256:2", description="Reads all.")]
    code, found = reviewed(manifest, capsys, "--accept", "docs_search", "--accept", "docs_read")
    assert (code, found) == (0, {"docs_search": "accepted", "docs_read": "accepted"})
    assert reviewed(manifest, capsys)[0] == 0
    rows = documents_of(manifest.read_text(), "x")[0].value["tools"]
    assert [(row["version"], row["binding"]["options"]["pin"]) for row in rows] == [
        ("4", "sha256:1"),
        ("2", "sha256:2"),
    ]
    assert rows[1]["description"] == "Reads all."
    assert "# What people search by." in manifest.read_text()


def test_the_pin_alone_can_be_accepted(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the words that people wrote."""
    upstream.offered = [pinned("search", "sha256:1", description="Other."), pinned("read", "sha256:2")]
    reviewed(manifest, capsys, "--accept", "docs_search", "--pin-only")
    row = documents_of(manifest.read_text(), "x")[0].value["tools"][0]
    assert (row["description"], row["binding"]["options"]["pin"]) == ("Searches.", "sha256:1")


@pytest.mark.parametrize("name", ["docs_read", "nobody"])
def test_what_cannot_be_accepted_changes_nothing(
    name: str, upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gone, or not there at all: one sentence."""
    upstream.offered = [pinned("search", "sha256:1")]
    assert run(["registry", "review", str(manifest), "--accept", name]) == 2
    assert name in capsys.readouterr().err
    assert manifest.read_text() == MANIFEST


def test_a_person_is_shown_the_difference_and_nothing_that_acts(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An upstream's words are shown harmless."""
    upstream.offered = [pinned("search", "sha256:1", description="Sends\u202e all.\x1b[2J"), pinned("read", "sha256:2")]
    assert run(["registry", "review", str(manifest)]) == 1
    text = capsys.readouterr().out
    assert "-  description: Searches." in text
    assert "+  description: Sends all.[2J" in text
    assert "\x1b[2J" not in text


def test_an_unknown_connection_is_named(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those that there are."""
    assert run(["registry", "review", str(manifest), "--connection", "none"]) == 2
    assert "they have: docs" in capsys.readouterr().err


TWO_TENANTS = MANIFEST.replace(
    "  - {name: docs, tenant: acme, vendor: making}\n",
    "  - {name: docs, tenant: acme, vendor: making}\n  - {name: docs, tenant: other, vendor: making}\n",
)


def test_a_row_of_two_tenants_accepts_what_both_are_offered(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their connections have one name, and the row is one."""
    manifest.write_text(TWO_TENANTS)
    upstream.offered = [pinned("search", "sha256:1"), pinned("read", "sha256:2")]
    code, _ = reviewed(manifest, capsys, "--accept", "docs_search", "--accept", "docs_read")
    assert code == 0
    assert reviewed(manifest, capsys)[0] == 0


@pytest.mark.parametrize("first", ["acme", "other"])
def test_what_two_tenants_are_offered_differently_is_accepted_by_neither(
    first: str, upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever of the two the row accepts now: the other one's calls would be refused then."""
    text = TWO_TENANTS.replace("tool: search", "x").replace(
        "options: {word: search}", 'options: {word: search, pin: "sha256:acme"}'
    )
    manifest.write_text(
        text.replace("tenant: acme", "tenant: x")
        .replace("tenant: other", "tenant: acme")
        .replace("tenant: x", "tenant: other")
        if first == "other"
        else text
    )

    async def offers(invocation: Any) -> Any:
        tenant = invocation.target.account.partition("/")[0]
        return [pinned("search", f"sha256:{tenant}"), pinned("read", "sha256:2")]

    upstream.offers = offers  # type: ignore[method-assign]
    before = manifest.read_text()
    assert run(["registry", "review", str(manifest), "--accept", "docs_search"]) == 2
    assert "other" in capsys.readouterr().err
    assert manifest.read_text() == before


@pytest.mark.parametrize("change", [("side_effect: read", "side_effect: write"), ("docs_search", "docs_find")])
def test_what_somebody_wrote_meanwhile_is_not_lost(
    change: tuple[str, str], upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the upstreams were asked."""
    after = MANIFEST.replace(*change, 1)

    async def offers(_invocation: Any) -> Any:
        _write(manifest, after)
        return [pinned("search", "sha256:1"), pinned("read", "sha256:2")]

    upstream.offers = offers  # type: ignore[method-assign]
    assert run(["registry", "review", str(manifest), "--accept", "docs_search"]) == 2
    assert "meanwhile" in capsys.readouterr().err
    assert manifest.read_text() == after


def test_a_row_that_cannot_be_written_in_its_place_is_shown(
    upstream: OfferingAdapter, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a person can."""
    text = json.dumps(documents_of(MANIFEST, "x")[0].value)
    manifest.write_text(text)
    upstream.offered = [pinned("search", "sha256:1"), pinned("read", "sha256:2")]
    assert run(["registry", "review", str(manifest), "--accept", "docs_search"]) == 2
    assert "pin: sha256:1" in capsys.readouterr().err
    assert manifest.read_text() == text


def _write(manifest: Path, text: str) -> None:
    manifest.write_text(text)
