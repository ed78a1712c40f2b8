"""`vault:` references against a real OpenBao."""

import asyncio
import http.server
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from real.bao import Bao, running
from real.waiting import until

from adapters.base import Fault
from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.vault import VaultSource
from gateway.errors import Reason, Refusal
from gateway.settings.vault import AppRoleAuth, KubernetesAuth, TokenAuth, VaultAuth, VaultMount, VaultSettings

MOUNTS = {"secret": 2, "team/kv": 2, "legacy": 1}


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """One server with three KV engines, and the same secret in each."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        for mount, version in MOUNTS.items():
            server.mount(mount, version)
            server.put(mount, "acme/smtp", version, password=f"hunter2-{mount}", user="smtp")
        server.allow("gateway", "secret/data/*", "team/kv/data/*", "legacy/*")
        yield server


Opened = Callable[..., VaultSource]


@pytest.fixture
async def opened(bao: Bao) -> AsyncIterator[Opened]:
    """Makes sources and stops them."""
    sources: list[VaultSource] = []

    def make(auth: VaultAuth, **options: Any) -> VaultSource:
        mounts = options.pop("mounts", MOUNTS)
        settings = VaultSettings(
            addresses=(bao.address,),
            auth=auth,
            mounts=tuple(VaultMount(path=path, version=version) for path, version in mounts.items()),
            **options,
        )
        client = VaultClient(
            settings.addresses, namespace=settings.namespace, timeout_seconds=settings.timeout_ms / 1000
        )
        sources.append(VaultSource(settings, client, clock=SystemClock(), chance=lambda: 0.0))
        return sources[-1]

    yield make
    for source in sources:
        await source.stop()


def approle(bao: Bao, folder: Path, name: str, policy: str = "gateway", **options: Any) -> AppRoleAuth:
    """A role of the test's own, and its files."""
    for file, value in zip(("role", "secret"), bao.role(name, policy, **options), strict=True):
        (folder / file).write_text(value)
    return AppRoleAuth(kind="approle", role_id_file=folder / "role", secret_id_file=folder / "secret")


def token_file(folder: Path, token: str) -> TokenAuth:
    """A file with this token, replaced as a whole."""
    (folder / "new").write_text(token)
    (folder / "new").replace(folder / "token")
    return TokenAuth(kind="token", token_file=folder / "token")


async def value(source: VaultSource, name: str = "secret/acme/smtp#password", tenant: str = "acme") -> str:
    """What a call gets."""
    return (await source.resolve(tenant, name)).reveal()


async def refusal(source: VaultSource, name: str = "secret/acme/smtp#password", tenant: str = "acme") -> Refusal:
    """What a call gets when there is nothing."""
    with pytest.raises(Refusal) as caught:
        await source.resolve(tenant, name)
    assert "smtp" not in caught.value.message
    return caught.value


async def test_both_versions_and_a_mount_of_two_segments(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """One login for all."""
    source = opened(approle(bao, tmp_path, "versions"))
    for mount in MOUNTS:
        assert await value(source, f"{mount}/acme/smtp#password") == f"hunter2-{mount}"


async def test_g09_the_same_secret_configured_four_ways(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """Two resolve; `data/` too much and a wrong version are each said in plain words before the first call."""
    source = opened(approle(bao, tmp_path, "four"), mounts={"secret": 2, "team/kv": 2, "legacy": 2})
    references = [
        "vault:secret/data/acme/smtp#password",
        "vault:secret/acme/smtp#password",
        "vault:team/kv/acme/smtp#password",
        "vault:legacy/acme/smtp#password",
    ]
    report = await source.check([("acme", reference) for reference in references])
    too_much, wrong_version = report.problems
    assert too_much == f"{references[0]} (tenant acme): leave out data/, which belongs to the API: {references[1]}"
    assert wrong_version.startswith(f"{references[3]} (tenant acme): the KV engine at 'legacy' is version 1, and")
    assert report.warnings == ()
    assert await value(source) == "hunter2-secret"
    assert await value(source, "team/kv/acme/smtp#password") == "hunter2-team/kv"


async def test_g09_version_1_taken_for_2_and_2_for_1(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """Both are found, with a login that may read nothing but the secret as well."""
    bao.allow("narrow", "secret/data/acme/smtp", "legacy/acme/smtp")
    for policy in ("gateway", "narrow"):
        source = opened(approle(bao, tmp_path, f"mixed-{policy}", policy), mounts={"secret": 1, "legacy": 2})
        references = [("acme", f"vault:{mount}/acme/smtp#password") for mount in ("secret", "legacy")]
        problems = (await source.check(references)).problems
        assert "'secret' is version 2, and the settings say 1" in problems[0]
        assert "'legacy' is version 1, and the settings say 2" in problems[1]


async def test_g09_no_right_and_no_secret_differ_in_the_audit(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """And not by what the agent could learn of the path."""
    bao.allow("smtp-only", "secret/data/acme/smtp", "secret/data/acme/none")
    bao.put("secret", "acme/denied", password="hunter2-denied")
    source = opened(approle(bao, tmp_path, "differ", "smtp-only"))
    absent, denied = await refusal(source, "secret/acme/none#x"), await refusal(source, "secret/acme/denied#password")
    assert (absent.reason, absent.fault) == (Reason.CREDENTIAL_MISSING, None)
    assert (denied.reason, denied.fault) == (Reason.CREDENTIAL_UNAVAILABLE, Fault.REFUSED)


async def test_a_deleted_secret_is_missing(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """From the next refresh on."""
    bao.put("secret", "acme/deleted", password="hunter2-deleted")
    source = opened(approle(bao, tmp_path, "deleted"), cache_seconds=1)
    assert await value(source, "secret/acme/deleted#password") == "hunter2-deleted"
    bao.delete("secret", "acme/deleted")

    async def is_missing() -> bool:
        try:
            await value(source, "secret/acme/deleted#password")
        except Refusal as refusal:
            return refusal.reason is Reason.CREDENTIAL_MISSING
        return False

    await until(is_missing, 2.0)


async def test_200_callers_cause_one_login_and_one_read(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """By the server's own audit log."""
    source = opened(approle(bao, tmp_path, "many"))
    before = len(bao.asked())
    values = await asyncio.gather(*(value(source) for _ in range(200)))
    assert set(values) == {"hunter2-secret"}
    assert bao.asked()[before:] == [("update", "auth/approle/login"), ("read", "secret/data/acme/smtp")]


async def test_tenants_with_namespaces_of_their_own(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """The same reference means another secret for each; one login serves all."""
    for name in ("tenant-a", "tenant-b"):
        bao.root.adapter.post(f"/v1/sys/namespaces/{name}")
        bao.mount("secret", 2, namespace=name)
        bao.put("secret", "acme/smtp", namespace=name, password=f"hunter2-{name}")
    bao.allow("tenants", "tenant-a/secret/data/*", "secret/data/*")
    source = opened(
        approle(bao, tmp_path, "tenants", "tenants"), namespaces={"a": "tenant-a", "b": "tenant-b", "gone": "tenant-c"}
    )
    assert await value(source, tenant="a") == "hunter2-tenant-a"
    assert await value(source, tenant="acme") == "hunter2-secret"
    assert (await refusal(source, tenant="b")).fault is Fault.REFUSED
    assert (await refusal(source, tenant="gone")).reason in (Reason.CREDENTIAL_MISSING, Reason.CREDENTIAL_UNAVAILABLE)


async def test_a_namespace_to_log_in_to(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """The token lives there."""
    bao.root.adapter.post("/v1/sys/namespaces/team-n")
    bao.mount("secret", 2, namespace="team-n")
    bao.put("secret", "acme/smtp", namespace="team-n", password="hunter2-team-n")
    client = bao.client(bao.root.token, namespace="team-n")
    client.sys.create_or_update_policy("all", 'path "secret/data/*" { capabilities = ["read"] }')
    token = client.auth.token.create(policies=["all"])["auth"]["client_token"]
    source = opened(token_file(tmp_path, token), namespace="team-n")
    assert await value(source) == "hunter2-team-n"


async def test_a_rotated_token_file_is_followed(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """Within a second, and no caller fails though the old token is revoked after that."""
    old, new = bao.token("gateway"), bao.token("gateway")
    source = opened(token_file(tmp_path, old), cache_seconds=1)
    assert await value(source) == "hunter2-secret"
    token_file(tmp_path, new)
    await asyncio.sleep(1.0)
    bao.root.auth.token.revoke(old)
    ends = time.monotonic() + 1.5
    while time.monotonic() < ends:
        assert await value(source) == "hunter2-secret"
        await asyncio.sleep(0.02)


async def test_a_token_revoked_on_purpose_ends_its_use(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """From the next refresh on there is no credential, and none is served from before."""
    token = bao.token("gateway")
    source = opened(token_file(tmp_path, token), cache_seconds=1)
    assert await value(source) == "hunter2-secret"
    bao.root.auth.token.revoke(token)
    await until(lambda: is_denied(source), 2.0)
    for _ in range(5):
        assert (await refusal(source)).reason is Reason.CREDENTIAL_UNAVAILABLE


async def test_a_right_taken_away_ends_its_use(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """At the next refresh; no login is tried for it."""
    bao.allow("fickle", "secret/data/acme/smtp")
    source = opened(approle(bao, tmp_path, "fickle", "fickle"), cache_seconds=1)
    assert await value(source) == "hunter2-secret"
    before = len(bao.asked())
    bao.allow("fickle")
    await until(lambda: is_denied(source), 2.0)
    assert ("update", "auth/approle/login") not in bao.asked()[before:]


async def is_denied(source: VaultSource) -> bool:
    """Whether a call is refused because the server does not let us."""
    try:
        await value(source)
    except Refusal as refusal:
        return refusal.fault is Fault.REFUSED
    return False


async def test_over_the_last_end_of_a_token_no_caller_notices(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """It is renewed while that gains anything, and replaced before it ends."""
    auth = approle(bao, tmp_path, "short", token_ttl="2s", token_max_ttl="4s")
    source = opened(auth, cache_seconds=1)
    await source.start()
    before = len(bao.asked())
    ends = time.monotonic() + 4.5
    while time.monotonic() < ends:
        assert await value(source) == "hunter2-secret"
        await asyncio.sleep(0.05)
    asked = bao.asked()[before:]
    assert ("update", "auth/token/renew-self") in asked
    assert ("update", "auth/approle/login") in asked
    assert ("read", "auth/token/lookup-self") not in asked


async def test_a_revoked_token_of_ours_is_replaced_within_the_call(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """The caller gets its credential."""
    source = opened(approle(bao, tmp_path, "replaced"))
    await source.start()
    bao.root.auth.token.revoke(source._login._token.value)
    assert await value(source) == "hunter2-secret"


async def test_a_used_up_secret_id_causes_one_failed_login_and_locks_nobody_out(
    bao: Bao, opened: Opened, tmp_path: Path
) -> None:
    """Five would lock the role; a new secret id in the file works at once."""
    auth = approle(bao, tmp_path, "used-up", secret_id_num_uses=1)
    await value(opened(auth))
    before = len(bao.asked())
    source = opened(auth)
    for _ in range(50):
        assert (await refusal(source)).fault is Fault.REFUSED
    assert bao.asked()[before:] == [("update", "auth/approle/login")]
    (tmp_path / "secret").write_text(bao.secret_id("used-up"))
    await until(lambda: is_there(source), 3.0)


async def is_there(source: VaultSource) -> bool:
    """Whether a call gets its credential."""
    try:
        return bool(await value(source))
    except Refusal:
        return False


async def test_kubernetes(bao: Bao, opened: Opened, tmp_path: Path) -> None:
    """By the pod's service account, which the server has reviewed by the cluster."""
    with cluster() as address:
        bao.root.sys.enable_auth_method("kubernetes")
        ca = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"
        bao.root.adapter.post(
            "/v1/auth/kubernetes/config",
            json={"kubernetes_host": address, "disable_local_ca_jwt": True, "kubernetes_ca_cert": ca},
        )
        bao.root.auth.kubernetes.create_role(
            "gateway", ["tollhouse"], ["agents"], policies=["gateway"], audience="vault", ttl="1h"
        )
        (tmp_path / "jwt").write_text(service_account_token())
        source = opened(KubernetesAuth(kind="kubernetes", role="gateway", token_file=tmp_path / "jwt"))
        assert await value(source) == "hunter2-secret"
        other = opened(KubernetesAuth(kind="kubernetes", role="nobody", token_file=tmp_path / "jwt"))
        assert (await refusal(other)).fault is Fault.REFUSED


def service_account_token() -> str:
    """As a kubelet projects it."""
    now = int(time.time())
    account = {"namespace": "agents", "serviceaccount": {"name": "tollhouse", "uid": "u-1"}}
    claims = {
        "iss": "https://kubernetes.default.svc",
        "sub": "system:serviceaccount:agents:tollhouse",
        "aud": ["vault"],
        "iat": now,
        "nbf": now,
        "exp": now + 600,
        "kubernetes.io": account,
    }
    return jwt.encode(claims, rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256")


@contextmanager
def cluster() -> Iterator[str]:
    """The one call of a Kubernetes API server that the auth method makes; every token is good."""
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "status": {
            "authenticated": True,
            "audiences": ["vault"],
            "user": {
                "username": "system:serviceaccount:agents:tollhouse",
                "uid": "u-1",
                "groups": ["system:serviceaccounts"],
            },
        },
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(review).encode()
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["secret/acme/../acme/smtp#password", "secret/./acme/smtp#password", "secret/a%2e#x"])
async def test_a_path_that_could_be_read_in_two_ways_reaches_no_server(
    bao: Bao, opened: Opened, tmp_path: Path, name: str
) -> None:
    """Libraries normalise it, and the prefix that a grant allowed is gone."""
    before = len(bao.asked())
    source = opened(token_file(tmp_path, bao.root.token))
    assert (await refusal(source, name)).reason is Reason.CREDENTIAL_NOT_ALLOWED
    assert bao.asked()[before:] == []
