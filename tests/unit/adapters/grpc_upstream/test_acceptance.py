"""Whether a service still publishes what somebody has accepted."""

import asyncio
import base64
from collections.abc import AsyncIterator

import grpc
import pytest
from fakes.clock import FakeClock
from fakes.grpc_service.compiled import CUSTOMERS, KINDS, descriptor_set, pool_of
from fakes.grpc_service.server import Reflecting, grpc_server, publishing
from fakes.recipes.grpc_upstream import OFFERS, SERVICE
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.grpc_upstream.acceptance import BELIEVED_SECONDS, check_accepted
from adapters.grpc_upstream.channels import Channel
from adapters.grpc_upstream.files import MethodName
from adapters.grpc_upstream.methods import method_of

METHOD = method_of(MethodName.of(f"{SERVICE}/AddNote"), base64.b64decode(OFFERS["AddNote"].options["descriptors"]))


class Service:
    """Something that publishes, with a channel to it."""

    def __init__(self, channel: Channel, reflecting: Reflecting) -> None:
        self.channel, self.reflecting, self.clock = channel, reflecting, FakeClock()

    async def check(self) -> None:
        """Whether the method is as it was accepted."""
        await check_accepted(self.channel, METHOD, (), self.clock, 5.0)

    async def refused(self) -> AdapterError:
        """The error that it is not."""
        with pytest.raises(AdapterError) as caught:
            await self.check()
        return caught.value

    def changes(self, *, gone: bool = False) -> None:
        """A field is a list from here on, or the whole service is gone."""
        found = FileDescriptorSet.FromString(descriptor_set(CUSTOMERS))
        found.file[-1].message_type[2].field[1].label = 3
        names = ["acme.kinds.v1.KindService"] if gone else [SERVICE]
        self.reflecting.now(names, pool_of(descriptor_set(KINDS) if gone else found.SerializeToString()))


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    """One that publishes what was accepted."""
    data = descriptor_set(CUSTOMERS)
    reflecting = publishing(data, pool_of(data), SERVICE)
    async with (
        grpc_server({}, reflecting=reflecting) as server,
        grpc.aio.insecure_channel(f"ipv4:127.0.0.1:{server.port}") as raw,
    ):
        yield Service(Channel(raw, ("127.0.0.1",), 0.0), reflecting)


async def test_what_was_accepted_is_looked_at_once_in_a_while(service: Service) -> None:
    """And looked at again when that is over."""
    await service.check()
    await service.check()
    assert service.reflecting.looks == 1
    service.clock.advance(BELIEVED_SECONDS + 1)
    await service.check()
    assert service.reflecting.looks == 2


async def test_many_at_once_look_once(service: Service) -> None:
    """One asks for all."""
    await asyncio.gather(*(service.check() for _ in range(20)))
    assert service.reflecting.looks == 1


async def test_a_change_is_seen_at_the_next_look(service: Service) -> None:
    """Nothing was sent, and nothing will be for a while."""
    await service.check()
    service.changes()
    service.clock.advance(BELIEVED_SECONDS + 1)
    error = await service.refused()
    assert (error.kind, error.happened) == (ErrorKind.CHANGED, Happened.NO)
    assert (await service.refused()).kind is ErrorKind.CHANGED
    assert service.reflecting.looks == 2


async def test_a_service_that_is_gone_has_changed(service: Service) -> None:
    """Its name leads to nothing."""
    service.changes(gone=True)
    assert (await service.refused()).kind is ErrorKind.CHANGED


async def test_a_method_that_is_gone_has_changed(service: Service) -> None:
    """The rest of the service does not matter."""
    found = FileDescriptorSet.FromString(descriptor_set(CUSTOMERS))
    del found.file[-1].service[0].method[1]
    service.reflecting.now([SERVICE], pool_of(found.SerializeToString()))
    assert (await service.refused()).kind is ErrorKind.CHANGED


async def test_whoever_looks_and_gives_up_leaves_it_to_the_next(service: Service) -> None:
    """A failure is not remembered."""
    looking = asyncio.create_task(service.check())
    await asyncio.sleep(0)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    await service.check()
    assert service.channel.digests[str(METHOD.name)][0] == METHOD.digest
