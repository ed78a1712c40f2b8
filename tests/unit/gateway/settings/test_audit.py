"""Who signs checkpoints, and where lines go."""

from pathlib import Path

import pydantic
import pytest

from gateway.settings.audit import CheckpointSettings, JsonlSink, OtlpSink
from gateway.settings.parts import AuditSettings

SERVER = {"url": "postgresql://db.corp.example/audit", "user": "audit_writer"}


def _wrong(**given: object) -> str:
    with pytest.raises(pydantic.ValidationError) as caught:
        AuditSettings.model_validate(given)
    return str(caught.value.errors(include_input=False)[0]["msg"])


def test_files_alone_are_the_default_and_nobody_signs() -> None:
    """What costs something is asked for."""
    settings = AuditSettings()
    assert settings.sinks == (JsonlSink(),)
    assert settings.checkpoints is None


def test_sinks_are_told_apart_by_kind() -> None:
    """Each with what it needs; paths count from the settings' own folder."""
    sinks = [
        {"kind": "jsonl"},
        {"kind": "stdout"},
        {"kind": "postgresql", "database": SERVER | {"password_file": "pw"}},
        {"kind": "otlp", "url": "https://collector.corp.example:4318/v1/logs", "token_file": "token"},
    ]
    settings = AuditSettings.model_validate({"sinks": sinks}).anchored(Path("/srv"))
    assert [sink.kind for sink in settings.sinks] == ["jsonl", "stdout", "postgresql", "otlp"]
    assert settings.sinks[2].database.password_file == Path("/srv/pw")
    assert isinstance(settings.sinks[3], OtlpSink)
    assert settings.sinks[3].token_file == Path("/srv/token")


@pytest.mark.parametrize(
    ("sinks", "words"),
    [
        ([], "jsonl must be among the sinks, once"),
        ([{"kind": "stdout"}], "jsonl must be among the sinks, once"),
        ([{"kind": "jsonl"}, {"kind": "jsonl"}], "jsonl must be among the sinks, once"),
        ([{"kind": "jsonl"}, {"kind": "stdout"}, {"kind": "stdout"}], "stdout is among the sinks twice"),
        ([{"kind": "jsonl"}, {"kind": "otlp", "url": "http://collector.corp.example/v1/logs"}], "on loopback only"),
        ([{"kind": "jsonl"}, {"kind": "otlp", "url": "https://u:p@collector.example/"}], "must not hold a user"),
        ([{"kind": "jsonl"}, {"kind": "postgresql", "database": {"url": "sqlite:x.db"}}], "a database of PostgreSQL"),
        ([{"kind": "jsonl"}, {"kind": "syslog"}], "does not match any of the expected tags"),
        ([{"kind": "jsonl", "path": "x"}], "Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_is_refused(sinks: list[object], words: str) -> None:
    """With what to do instead."""
    assert words in _wrong(sinks=sinks)


@pytest.mark.parametrize(
    ("checkpoints", "words"),
    [
        ({}, "name either key_file or transit"),
        ({"key_file": "k", "transit": {}}, "name either key_file or transit"),
        ({"key_file": "k", "seconds": 0}, "greater than or equal to 1"),
        ({"transit": {"name": "two words"}}, "should match pattern"),
        ({"transit": {"name": "a+b"}}, "should match pattern"),
        ({"transit": {"mount": "../transit"}}, "should match pattern"),
        ({"transit": {"key": "a/b"}}, "should match pattern"),
    ],
)
def test_a_signer_is_one_and_has_a_name(checkpoints: dict[str, object], words: str) -> None:
    """A path cannot lead elsewhere in Vault."""
    assert words in _wrong(checkpoints=checkpoints)


def test_paths_of_checkpoints_count_from_the_settings_own_folder() -> None:
    """Key and copy."""
    settings = CheckpointSettings(key_file=Path("audit.key"), copy_to=Path("witness")).anchored(Path("/srv"))
    assert (settings.key_file, settings.copy_to) == (Path("/srv/audit.key"), Path("/srv/witness"))
    assert settings.seconds == 60
