"""`registry import` proposes rows, in a file or on standard output, and says what it did not propose."""

import json
from pathlib import Path

import pytest
from fakes.descriptions import answered, document
from fakes.notes_service import DOCUMENT

from gateway.cli.importing import progress_bar
from gateway.cli.root import run
from gateway.documents import documents_of

Told = pytest.CaptureFixture[str]
TOOLS = ["create_note", "delete_note", "get_note", "list_notes", "search_notes", "update_note"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A document of a service."""
    path = tmp_path / "notes.yaml"
    path.write_text(DOCUMENT)
    return path


def asked(source: Path, *more: str) -> int:
    """The command's exit code."""
    return run(["registry", "import", "openapi", str(source), "--tenant", "acme", *more])


def test_rows_go_to_standard_output_and_the_rest_does_not(source: Path, capsys: Told) -> None:
    """A pipe gets a manifest and nothing else; the connection is named by the document's title."""
    assert asked(source) == 0
    told = capsys.readouterr()
    rows = documents_of(told.out, "out")[0].value
    assert sorted(tool["name"] for tool in rows["tools"]) == [f"notes_{name}" for name in TOOLS]
    assert rows["connections"][0]["options"]["auth"] == {"kind": "header", "name": "X-Notes-Token"}
    assert "Tools proposed: 6. Operations skipped: 1." in told.err
    assert "multipart/form-data" in told.err


def test_a_proposal_passes_the_check(source: Path, tmp_path: Path, capsys: Told) -> None:
    """As it was written: before anybody has looked at it."""
    out = tmp_path / "registry" / "notes.yaml"
    out.parent.mkdir()
    assert asked(source, "--out", str(out)) == 0
    assert str(out) in capsys.readouterr().err
    assert run(["registry", "check", str(out)]) == 0
    assert "# review: guessed from POST, read when it only searches" in out.read_text()


def test_what_is_there_is_not_written_over(source: Path, tmp_path: Path, capsys: Told) -> None:
    """Unless that is asked for."""
    out = tmp_path / "there.yaml"
    out.write_text("mine")
    assert asked(source, "--out", str(out)) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert asked(source, "--out", str(out), "--force") == 0
    assert "notes_list_notes" in out.read_text()
    assert asked(source, "--out", str(tmp_path / "no" / "where.yaml")) == 2


def test_a_summary_for_a_script(source: Path, tmp_path: Path, capsys: Told) -> None:
    """The manifest is in it when it is in no file."""
    assert asked(source, "--json", "--connection", "crm", "--prefix", "", "--only", "tag:notes") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["connection"], found["tools"], sorted(found["names"])) == ("crm", 6, TOOLS)
    assert found["skipped"] == []
    assert found["left_out"] == [{"tool": "create_note", "parts": ["/extra takes any object, and is left out"]}]
    assert len(documents_of(found["manifest"], "out")[0].value["tools"]) == 6
    out = tmp_path / "out.yaml"
    assert asked(source, "--json", "--out", str(out)) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["out"], found["manifest"]) == (str(out), None)
    assert [one["operation"] for one in found["skipped"]] == ["PUT /notes/{note-id}/attachment"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--connection", "Bad Name"), "--connection"),
        (("--tenant", "/"), "--tenant"),
        (("--base-url", "http://notes.example.com"), "must be https"),
        (("--base-url", "nonsense"), "--base-url"),
    ],
)
def test_what_cannot_be_is_one_sentence(source: Path, capsys: Told, more: tuple[str, ...], told: str) -> None:
    """Exit code 2, and no traceback."""
    assert asked(source, *more) == 2
    assert told in capsys.readouterr().err


def test_a_document_that_cannot_be_read_is_one_sentence(tmp_path: Path, capsys: Told) -> None:
    """As is one that is not there."""
    broken = tmp_path / "a.yaml"
    broken.write_text("openapi: 3.1.0\npaths: *x\n")
    assert asked(broken) == 2
    assert asked(tmp_path / "none.yaml") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_nothing_proposed_is_one(source: Path, capsys: Told) -> None:
    """It was not what somebody wanted."""
    assert asked(source, "--only", "tag:nothing") == 1
    assert "no tool is proposed" in capsys.readouterr().err
    assert asked(source, "--only", "tag:nothing", "--json") == 1
    assert json.loads(capsys.readouterr().out)["tools"] == 0


def test_what_a_document_says_cannot_act_on_a_terminal(tmp_path: Path, capsys: Told) -> None:
    """Not in a reason, and not in a manifest."""
    evil = "\x1b[2J\u202eevil"
    whole = document({f"/{evil}": {"get": answered()}, "/a": {"get": {**answered(), "summary": evil, "tags": [evil]}}})
    path = tmp_path / "a.json"
    path.write_text(json.dumps(whole))
    asked(path)
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "\u202e" not in told.out + told.err


def test_only_a_person_at_a_terminal_sees_a_bar(capsys: Told) -> None:
    """A script sees none."""
    with progress_bar() as tell:
        tell(1, 2)
    assert capsys.readouterr() == ("", "")


PASTED = "sk_live" + "_51H8abcdefghijklmnop"


def test_a_pasted_credential_gets_into_no_row(tmp_path: Path, capsys: Told) -> None:
    """From a default, a list of values, a text or an example."""
    text = {"type": "string", "default": PASTED, "example": PASTED}
    parameters = [
        {"name": "q", "in": "query", "schema": text},
        {"name": "kind", "in": "query", "schema": {"type": "string", "enum": ["plain", PASTED]}},
        {"name": "api_key", "in": "query", "schema": {"type": "string", "default": "hunter2-secret"}},
    ]
    inner = {"type": "object", "properties": {"a": text, "password": {"type": "string", "default": "hunter2-secret"}}}
    words = {"summary": f"Try {PASTED}", "description": f"`curl -H 'Authorization: Bearer {PASTED}'`"}
    operation = {"operationId": "a", "parameters": parameters, **words, **answered({"type": "object"})}
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": inner}}}
    source = tmp_path / "pasted.json"
    source.write_text(json.dumps(document({"/a": {"post": operation}})))
    assert asked(source) == 0
    told = "".join(capsys.readouterr())
    assert "argument: /password" in told
    assert PASTED not in told
    assert "hunter2" not in told


@pytest.mark.parametrize("url", ["https://bob:hunter2@notes.example.com", "https://notes.example.com/?t=hunter2"])
def test_a_password_in_an_address_is_not_shown(tmp_path: Path, capsys: Told, url: str) -> None:
    """The address is refused."""
    source = tmp_path / "pasted.json"
    source.write_text(json.dumps({**document({"/a": {"get": answered()}}), "servers": [{"url": url}]}))
    assert asked(source) == 2
    told = "".join(capsys.readouterr())
    assert "notes.example.com" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_link_is_not_followed(source: Path, tmp_path: Path, capsys: Told, force: tuple[str, ...]) -> None:
    """What it leads to is somebody else's."""
    (tmp_path / "theirs").write_text("theirs")
    out = tmp_path / "link.yaml"
    out.symlink_to(tmp_path / "theirs")
    assert asked(source, "--out", str(out), *force) == 2
    assert "is a link" in capsys.readouterr().err
    assert (tmp_path / "theirs").read_text() == "theirs"
