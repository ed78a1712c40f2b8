"""A secret is found in every usual encoding, wherever it stands."""

import base64
import html
import json
import os
import urllib.parse
from pathlib import Path

import pytest

from gateway.cli.demo.search import Hit, files_below, forms, new_password, search

SECRET = 'p@ss"word\\ü<&8842'

ENCODED = {
    "plain": SECRET.encode(),
    "json": json.dumps({"password": SECRET}).encode(),
    "json utf-8": json.dumps({"password": SECRET}, ensure_ascii=False).encode(),
    "json in json": json.dumps(json.dumps({"password": SECRET})).encode(),
    "url": urllib.parse.urlencode({"q": SECRET}).encode(),
    "path": urllib.parse.quote(SECRET, safe="").encode(),
    "hex": SECRET.encode().hex().encode(),
    "HEX": SECRET.encode().hex().upper().encode(),
    "html": html.escape(SECRET).encode(),
    "repr": repr({"password": SECRET}).encode(),
    "basic auth": base64.b64encode(f"user:{SECRET}".encode()),
    "auth plain": base64.b64encode(b"\0bot\0" + SECRET.encode()),
    "base64url": base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"="),
    "utf-16": SECRET.encode("utf-16"),
    "reversed": SECRET.encode()[::-1],
    "base64 after one": base64.b64encode(b"x" + SECRET.encode() + b"tail"),
    "base64 after two": base64.b64encode(b"xy" + SECRET.encode() + b"tail"),
}


@pytest.mark.parametrize("text", ENCODED.values(), ids=ENCODED)
def test_every_encoding_is_found(text: bytes) -> None:
    """Also in the middle of something else."""
    assert search({"f": b"before " + text + b" after"}, forms(SECRET, "bot"))


def test_what_is_not_there_is_not_found() -> None:
    """Other secrets, and parts of this one, are no hit."""
    haystack = json.dumps({"password": "something else", "part": SECRET[:8]}).encode()
    assert search({"f": haystack}, forms(SECRET, "bot")) == ()


def test_a_hit_names_place_and_encoding() -> None:
    """And nothing of the secret."""
    hits = search({"log": SECRET.encode().hex().encode(), "clean": b""}, forms(SECRET))
    assert hits == (Hit(place="log", encoding="hex"),)
    assert SECRET not in repr(hits)


def test_files_are_read_below_folders_and_links_are_not_followed(tmp_path: Path) -> None:
    """Regular files only: a pipe would block, a link would lead elsewhere."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er" / "f")
    os.mkfifo(tmp_path / "pipe")
    assert files_below([tmp_path]) == {str(tmp_path / "deep" / "er" / "f"): b"x"}


def test_a_password_planted_in_a_log_is_found(tmp_path: Path) -> None:
    """The negative of the demo's own claim."""
    (tmp_path / "gateway.log").write_text('{"event": "smtp_failed", "auth": "' + ENCODED["auth plain"].decode() + '"}')
    hits = search(files_below([tmp_path]), forms(SECRET, "bot"))
    assert {Path(hit.place).name for hit in hits} == {"gateway.log"}


def test_a_file_that_goes_away_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that runs removes files of its own while they are being read."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    read = Path.read_bytes

    def gone(path: Path) -> bytes:
        if path.name == "a":
            raise FileNotFoundError(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", gone)
    assert files_below([tmp_path]) == {str(tmp_path / "b"): b"b"}


def test_passwords_are_new_each_time_and_hard_to_write() -> None:
    """Quotes, a backslash, an umlaut and markup: every encoding writes them differently."""
    one, other = new_password(), new_password()
    assert one != other
    assert set('"\\&<ü') <= set(one)
    assert one.isprintable()
