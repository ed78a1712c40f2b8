"""The second scene from beginning to end: vendors, a customer who was charged twice, a gateway, an agent, a person."""

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gateway.audit.signing import make_key
from gateway.cli.demo.backends import Backends
from gateway.cli.demo.certificate import server_context
from gateway.cli.demo.emulators import bring, emulate, localstripe
from gateway.cli.demo.gathering import Left, Sought, gathered, written_in
from gateway.cli.demo.linear_relay import linear_relay
from gateway.cli.demo.packages import Absent
from gateway.cli.demo.person import Typed, approve_the_one
from gateway.cli.demo.processes import typed
from gateway.cli.demo.project import MAIL_HOST, USERNAME, Project, prepare_folders
from gateway.cli.demo.refund.checks import REASON
from gateway.cli.demo.refund.evidence import LeftOut, RefundEvidence
from gateway.cli.demo.refund.project import PERSON, SECRETS, reference_of, write_refund_project
from gateway.cli.demo.refund.shop import Keys, Shop, seed
from gateway.cli.demo.refund.steps import COMPLAINT, SAYS, Step
from gateway.cli.demo.scene import Say, Script, play
from gateway.cli.demo.search import forms, new_password
from gateway.cli.demo.servers import HOST, Account, World, running_world

REFUND = "refund"
"""The folder of this scene, below that of the demo."""
ROLE = "support-gateway"
KEY_NAME = "demo/refund"


class Around(NamedTuple):
    """What stands around this scene's gateway."""

    shop: Shop
    world: World


async def play_refund(demo: Project, backends: Backends, say: Say) -> RefundEvidence | LeftOut:
    """What was seen, or why nothing was: without Node there are no vendors. Raises `StartError`."""
    project = demo.below(REFUND)
    prepare_folders(project)
    try:
        say("looking for Stripe, Linear and Slack", "")
        await asyncio.to_thread(bring)
        return await _played(demo, project, backends, say)
    except Absent as absent:
        return LeftOut(why=absent.message)
    finally:
        shutil.rmtree(project.secrets, ignore_errors=True)


async def _played(demo: Project, project: Project, backends: Backends, say: Say) -> RefundEvidence:
    keys, account = _new_keys(), Account(username=USERNAME, password=new_password())
    secret = dict(zip(SECRETS, (keys.stripe, keys.linear, keys.slack, account.password), strict=True))
    audit_key = make_key(project.audit_key, KEY_NAME, secrets.token_bytes(32))
    say("starting Stripe, Linear, Slack and a mail server", "")
    async with _vendors(project, keys, account) as around:
        ours = backends.for_another(ROLE, secret)
        write_refund_project(project, around.world, around.shop, ours)
        counted_before = ours.counted()
        seen = await play(project, _script(project, around.shop), say, partial(_written, demo, project))
        say("asking the vendors what was done, and looking for their keys", "")
        left = Left(
            project=project,
            says=SAYS,
            mailbox=around.world.mailbox,
            key=audit_key,
            sought=_sought(ours, secret),
            engine=ours.engine,
        )
        return RefundEvidence(
            **gathered(left, seen, _written(demo, project)),
            **await _said_by(around.shop),
            counted=ours.counted() - counted_before,
            credentials=frozenset(map(reference_of, SECRETS)),
        )


@contextlib.asynccontextmanager
async def _vendors(project: Project, keys: Keys, account: Account) -> AsyncIterator[Around]:
    with emulate(project.logs, seed(keys)) as others, localstripe(project.logs) as stripe:
        async with (
            linear_relay(others.url("linear")) as relay,
            running_world(account, server_context(project.root, MAIL_HOST)) as world,
        ):
            slack = f"{others.url('slack')}/api"
            shop = Shop(stripe=stripe.url, linear=f"http://{HOST}:{relay.port}", slack=slack, keys=keys)
            await shop.stock()
            yield Around(shop, world)


def _script(project: Project, shop: Shop) -> Script:
    async def refunded() -> int:
        return len(await shop.refunds())

    async def decided(_approval_id: str) -> tuple[Typed, ...]:
        return await approve_the_one(project.control, partial(typed, folder=project.root), REASON, who=PERSON)

    return Script(
        agent="gateway.cli.demo.refund.agent",
        told=COMPLAINT,
        says=SAYS,
        waits=Step.REFUND,
        done_before=refunded,
        decide=decided,
    )


async def _said_by(shop: Shop) -> dict[str, Any]:
    """What the vendors themselves say was done."""
    return {
        "refunds": tuple(await shop.refunds()),
        "issues": tuple(await shop.issues()),
        "messages": tuple(await shop.messages()),
    }


def _written(demo: Project, project: Project) -> Mapping[str, bytes]:
    """What this scene's processes wrote, by its name in the project, and what all others of the demo did."""
    everything = {str(Path("..") / name): text for name, text in written_in(demo).items()}
    return {name: text for name, text in everything.items() if not name.startswith(f"../{REFUND}/")} | written_in(
        project
    )


def _sought(backends: Backends, secret: Mapping[str, str]) -> tuple[Sought, ...]:
    return tuple(
        Sought(forms=forms(value, USERNAME), kept=backends.kept_secret(name)) for name, value in secret.items()
    )


def _new_keys() -> Keys:
    """Of the forms that the vendors' own have."""
    return Keys(
        stripe=f"sk_test_{secrets.token_hex(16)}",
        linear=f"lin_api_{secrets.token_hex(20)}",
        slack=f"xoxb-{secrets.token_hex(20)}",
    )
