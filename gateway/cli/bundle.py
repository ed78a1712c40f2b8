"""`policy bundle build`, `verify` and `keygen`: a policy as one signed file, for OPA and for the embedded engine."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from gateway.cli.terminal import complain, print_json, shown, terminal
from gateway.clock import rfc3339
from gateway.errors import StartError
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.policy.bundle.archive import MAX_ARCHIVE_BYTES
from gateway.policy.bundle.build import Signing, build_bundle
from gateway.policy.bundle.manifest import make_revision, revision_time
from gateway.policy.bundle.opened import Bundle, open_bundle
from gateway.policy.bundle.signature import (
    DEFAULT_KEY_ID,
    VerifyingKey,
    make_signing_key,
    read_signing_key,
    read_verifying_key,
)
from gateway.policy.candidate import Trials, tried_pack
from gateway.policy.embedded import packages_of
from gateway.policy.pack import Pack, read_pack
from gateway.policy.testing import run_tests
from gateway.settings.policy import PolicySettings

CLOCKS_DIFFER_SECONDS = 3600.0
K = TypeVar("K")

app = typer.Typer(
    help="Build and verify signed policy bundles, in OPA's own format.", no_args_is_help=True, rich_markup_mode=None
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Scope = Annotated[str, typer.Option("--scope", help="What the signature is for; whoever verifies must name the same.")]


@app.command()
def build(  # noqa: PLR0913 - one option each
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders of Rego and data.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The bundle to write.")] = Path("bundle.tar.gz"),
    signing_key: Annotated[Path, typer.Option("--signing-key", help="The private key, PEM: RSA or elliptic curve.")],
    algorithm: Annotated[
        str, typer.Option("--algorithm", help="Such as ES256 or PS256; suits the key if left out.")
    ] = "",
    key_id: Annotated[str, typer.Option("--key-id", help="The name of the key in OPA's settings.")] = DEFAULT_KEY_ID,
    revision: Annotated[str, typer.Option("--revision", help="Made of time and content when left out.")] = "",
    scope: Scope = "",
    is_tested: Annotated[bool, typer.Option("--tests/--no-tests", help="Run the policy's tests first.")] = True,
    json: AsJson = False,
) -> None:
    """Check and test a policy, and write it as one signed bundle. Nothing is written when anything is wrong.

    Example: tollhouse policy bundle build policies/ -o bundle.tar.gz --signing-key policy.pem
    """
    if revision and revision_time(revision) is None:
        raise StartError("a revision must say when it was built, such as 20261130T141436Z-0123456789ab")
    key = _read_key(read_signing_key, signing_key)
    now = time.time()
    if (revision_time(revision) or 0.0) > now + CLOCKS_DIFFER_SECONDS:
        raise StartError("the revision's time is yet to come, and no bundle built before it would be taken any more")
    with problems_shown("the bundle is not built; correct what is listed", json=json):
        pack = _checked(folders, is_tested=is_tested)
        signing = Signing(key=key, algorithm=algorithm, key_id=key_id, scope=scope)
        revision = revision or make_revision(now, pack.revision)
        raw, bundle = build_bundle(pack, packages_of(pack), revision=revision, signing=signing, now=now)
    _write(output, raw)
    _print(bundle, output, key.public, json=json)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.")],
    *,
    key: Annotated[Path, typer.Option("--key", help="The public key, PEM, that must have signed it.")],
    scope: Scope = "",
    json: AsJson = False,
) -> None:
    """Say what is in a bundle and who signed it. The exit code is 1 when its signature is not good.

    Example: tollhouse policy bundle verify bundle.tar.gz --key policy.pem.pub
    """
    public = _read_key(read_verifying_key, key)
    raw = _read(file)
    with problems_shown("the bundle must not be used", json=json):
        bundle = open_bundle(raw, public, scope=scope, now=time.time())
    _print(bundle, file, public, json=json)


@app.command()
def keygen(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where the private key goes; FILE.pub is the public one.")
    ],
) -> None:
    """Make a key to sign bundles with (ES256). Keep the private half away from every gateway.

    Example: tollhouse policy bundle keygen policy.pem
    """
    public_file = file.with_name(f"{file.name}.pub")
    private, public = make_signing_key()
    for path, content, mode in ((file, private, 0o600), (public_file, public, 0o644)):
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as target:
                target.write(content)
        except OSError as error:
            raise StartError(f"{path} cannot be written: {error.strerror}; name another file") from error
    terminal().print(Text("ok", style="green"), shown(f"sign with {file}, verify with {public_file}"), soft_wrap=True)


def _checked(folders: list[Path], *, is_tested: bool) -> Pack:
    """The policy as the gateway would load it, after its tests. Raises `PolicyUnusable`."""
    pack = asyncio.run(tried_pack(folders, Trials(max_ms=PolicySettings().max_decision_ms)))
    if not is_tested:
        return pack
    with ended_by_ctrl_c():
        report = run_tests(read_pack(folders), time.perf_counter)
    if not report.results:
        message = "there is no test; write a rule test_* in a file *_test.rego, or build with --no-tests"
        raise PolicyUnusable(PolicyProblem(file="-", rule="no_tests", message=message))
    failed = [result for result in report.results if not result.is_passed]
    if failed:
        raise PolicyUnusable(
            *(PolicyProblem(file=each.file, rule=each.name, message=f"the test fails: {each.error}") for each in failed)
        )
    return pack


def _read_key(read: Callable[[Path], K], path: Path) -> K:
    try:
        return read(path)
    except PolicyUnusable as unusable:
        raise StartError(f"{path} {unusable.problems[0].message}") from unusable


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_ARCHIVE_BYTES + 1)
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}; name a bundle") from error


def _write(path: Path, raw: bytes) -> None:
    """As a whole or not at all: whoever serves the file never serves half of it."""
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_bytes(raw)
        draft.replace(path)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}") from error


def _print(bundle: Bundle, file: Path, key: VerifyingKey, *, json: bool) -> None:
    found = _facts(bundle, key)
    if json:
        print_json({"ok": True, "file": str(file), **found, "problems": []})
        return
    console = terminal()
    console.print(Text("ok", style="green"), shown(f"{file}: revision {found['revision']}"), soft_wrap=True)
    signed_at = f" at {found['signed_at']}" if found["signed_at"] else ""
    scope = f", scope {found['scope']}" if found["scope"] else ""
    by = f"  signed{signed_at} by {found['algorithm']}, key {found['key_id'] or 'without a name'}{scope}"
    console.print(shown(by), soft_wrap=True)
    console.print(shown(f"  fingerprint of the key {found['fingerprint']}"), soft_wrap=True)
    for name in found["files"]:
        console.print(shown(f"  {name}"), soft_wrap=True)


def _facts(bundle: Bundle, key: VerifyingKey) -> dict[str, Any]:
    signed = bundle.signed
    return {
        "revision": bundle.manifest.revision,
        "roots": list(bundle.manifest.roots),
        "files": sorted(bundle.files),
        "algorithm": signed.algorithm,
        "key_id": signed.key_id,
        "fingerprint": key.fingerprint,
        "scope": signed.scope,
        "signed_at": rfc3339(signed.issued_at) if signed.issued_at is not None else "",
    }


@contextmanager
def problems_shown(sentence: str, *, json: bool) -> Iterator[None]:
    """What makes a policy unusable is shown below the sentence, and the command ends with 1."""
    try:
        yield
    except PolicyUnusable as unusable:
        if json:
            print_json({"ok": False, "problems": [asdict(problem) for problem in unusable.problems]})
        else:
            complain(sentence, map(str, unusable.problems))
        raise typer.Exit(1) from unusable


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C ends the process at once: while the engine decides it holds the interpreter, and a policy
    without an end would never let Python hear of it.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
