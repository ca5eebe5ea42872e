"""The groups of methods of the asynchronous client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, List, Literal, Optional, TypeVar

from . import types
from ._lists import AsyncItemList
from ._transport import Call, Transport, build_path
from .errors import GenmeterError

if TYPE_CHECKING:
    # Part of every type checker; not needed at run time.
    from typing_extensions import Unpack

R = TypeVar("R")
ContentType = Literal["image/png", "image/jpeg", "image/webp", "image/jpg"]

#: Seconds for which the service holds the response of a read back; it allows 45.
_LONG_POLL_SECONDS = 30
#: Shortest time between two reads of a generation.
_POLL_INTERVAL = 2.0
#: Seconds that an attempt to transfer a file may take in addition to the timeout.
_TRANSFER_SECONDS = 240.0


class Group:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _call(self, call: Call[R]) -> R:
        return await self._transport.request(call)


class AsyncGenerations(Group):
    """Videos and images."""

    async def create(
        self, *, idempotency_key: Optional[str] = None, **generation: Unpack[types.CreateGeneration]
    ) -> types.Generation:
        """Charges the credits and queues a generation.

        It carries an `Idempotency-Key`, so that repeating it after a lost response does not charge
        again. `idempotency_key` replaces the generated one, for retries that outlive the process.
        """
        path = build_path("generations", "create")
        return await self._call(Call("POST", path, generation, "keyed", idempotency_key))

    async def estimate(self, **generation: Unpack[types.CreateGeneration]) -> types.Estimate:
        """Computes the price of a generation, and whether it would be accepted now."""
        return await self._call(Call("POST", build_path("generations", "estimate"), generation))

    async def get(self, uuid: str) -> types.Generation:
        return await self._call(Call("GET", build_path("generations", uuid)))

    async def wait(self, uuid: str, *, timeout: Optional[float] = None) -> types.Generation:
        """Waits until a generation has ended: its `status` is then `succeeded` or `failed`.

        Raises GenmeterError with the code `timeout` after `timeout` seconds; the generation
        continues. Without it the wait has no limit, since the service ends every generation itself.
        """
        ends_at = time.monotonic() + (float("inf") if timeout is None else timeout)
        call = Call[types.Generation](
            "GET",
            build_path("generations", uuid),
            query={"wait": _LONG_POLL_SECONDS},
            extra_time=_LONG_POLL_SECONDS,
            ends_at=ends_at,
        )
        while True:
            started_at = time.monotonic()
            try:
                generation = await self._call(call)
            except GenmeterError as error:
                if time.monotonic() < ends_at:
                    raise
                detail = f"Generation {uuid} has not ended within {timeout} seconds."
                raise GenmeterError("timeout", detail) from error
            if generation["status"] != "queued":
                return generation
            # A process of the service that stops, or is busy, does not hold responses back.
            resumes_at = min(started_at + _POLL_INTERVAL, ends_at)
            await self._transport.sleep(max(0.0, resumes_at - time.monotonic()))

    def list(self, **filters: Unpack[types.GenerationFilters]) -> AsyncItemList[types.Generation]:
        """Lists generations, newest first."""
        return AsyncItemList(self._transport, build_path("generations"), filters)

    async def cancel(self, uuid: str) -> types.Generation:
        """Cancels a queued generation and returns it.

        One that was submitted to its provider stays `queued` until the provider has responded:
        `wait` for its end, which may be a success.
        """
        return await self._call(Call("POST", build_path("generations", uuid, "cancel")))

    async def delete(self, uuid: str) -> None:
        """Deletes a generation and its files, without a refund."""
        await self._call(Call[None]("DELETE", build_path("generations", uuid)))

    async def download(self, generation: types.Generation) -> bytes:
        """Downloads the output of a generation. Raises ValueError if it has none."""
        url = generation["output_url"]
        if url is None:
            raise ValueError(f"Generation {generation['uuid']} has no output.")
        return await self._call(Call("GET", url, extra_time=_TRANSFER_SECONDS))


class AsyncModels(Group):
    """Models with their prices and accepted values. Needs no key."""

    def list(self) -> AsyncItemList[types.Model]:
        return AsyncItemList(self._transport, build_path("models"), {})


class AsyncPlans(Group):
    """Plans. Needs no key."""

    async def list(self) -> List[types.Plan]:
        return await self._call(Call("GET", build_path("billing", "plans")))


class AsyncUsage(Group):
    """Balance and consumption."""

    async def summary(self) -> types.UsageSummary:
        """Plan, balance, generations in progress, and the usage of the last 30 days."""
        return await self._call(Call("GET", build_path("usage", "summary")))

    def by_key(self) -> AsyncItemList[types.KeyUsage]:
        """Usage by API key."""
        return AsyncItemList(self._transport, build_path("usage", "keys"), {})


class AsyncLedger(Group):
    """Ledger of the credits."""

    def list(self, **filters: Unpack[types.LedgerFilters]) -> AsyncItemList[types.LedgerEntry]:
        """Lists entries, newest first."""
        return AsyncItemList(self._transport, build_path("ledger"), filters)


class AsyncGiftCodes(Group):
    """Gift codes."""

    async def redeem(
        self, code: str, *, idempotency_key: Optional[str] = None
    ) -> types.RedeemedGiftCode:
        """Adds the credits of a code to the balance, once for each account."""
        path = build_path("gift-codes", "redeem")
        return await self._call(Call("POST", path, {"code": code}, "keyed", idempotency_key))


class AsyncKeys(Group):
    """API keys of the account."""

    async def create(
        self, *, idempotency_key: Optional[str] = None, **key: Unpack[types.CreateApiKey]
    ) -> types.CreatedApiKey:
        """Creates a key. The response is the only one that contains it."""
        path = build_path("keys", "create")
        return await self._call(Call("POST", path, key, "keyed", idempotency_key))

    def list(self) -> AsyncItemList[types.ApiKey]:
        return AsyncItemList(self._transport, build_path("keys"), {})

    async def update(self, uuid: str, **changes: Unpack[types.UpdateApiKey]) -> types.ApiKey:
        """Changes the name or options of a key; None removes an option."""
        return await self._call(Call("PATCH", build_path("keys", uuid), changes))

    async def revoke(self, uuid: str) -> None:
        """Revokes a key, immediately and permanently."""
        await self._call(Call[Any]("POST", build_path("keys", uuid, "revoke")))


class AsyncUploads(Group):
    """Images for models that take them. Name one in `params` of a create as `upload:<uuid>`."""

    async def create(self, **upload: Unpack[types.CreateUpload]) -> types.CreatedUpload:
        """Creates an upload that waits for its file. One that is not used expires."""
        return await self._call(Call("POST", build_path("uploads", "create"), upload))

    async def send(self, upload: types.CreatedUpload, file: bytes) -> None:
        """Sends the file of an upload to its address."""
        url, headers = upload["upload_url"], upload["headers"]
        call = Call[bytes]("PUT", url, file, headers=headers, extra_time=_TRANSFER_SECONDS)
        await self._call(call)

    async def get(self, uuid: str) -> types.Upload:
        """Returns an upload, and decodes its file if it has arrived."""
        return await self._call(Call("GET", build_path("uploads", uuid)))

    async def upload(self, file: bytes, content_type: ContentType) -> types.Upload:
        """Uploads an image: creates the upload, sends the file and has it decoded.

        Check whether the `status` of the result is `ready` or `failed`.
        """
        created = await self.create(content_type=content_type, bytes=len(file))
        await self.send(created, file)
        return await self.get(created["uuid"])


class AsyncWebhooks(Group):
    """Webhook endpoints of the account and their deliveries."""

    async def create(
        self, *, idempotency_key: Optional[str] = None, **endpoint: Unpack[types.CreateWebhook]
    ) -> types.WebhookEndpointWithSecret:
        """Creates an endpoint. The response is the only one that contains its secret."""
        path = build_path("webhooks", "create")
        return await self._call(Call("POST", path, endpoint, "keyed", idempotency_key))

    async def get(self, uuid: str) -> types.WebhookEndpoint:
        return await self._call(Call("GET", build_path("webhooks", uuid)))

    def list(self) -> AsyncItemList[types.WebhookEndpoint]:
        return AsyncItemList(self._transport, build_path("webhooks"), {})

    async def update(
        self, uuid: str, **changes: Unpack[types.UpdateWebhook]
    ) -> types.WebhookEndpoint:
        return await self._call(Call("PATCH", build_path("webhooks", uuid), changes))

    async def delete(self, uuid: str) -> None:
        await self._call(Call[None]("DELETE", build_path("webhooks", uuid)))

    async def rotate_secret(
        self, uuid: str, *, idempotency_key: Optional[str] = None
    ) -> types.WebhookEndpointWithSecret:
        """Replaces the secret. The former keys sign as well for 24 hours."""
        path = build_path("webhooks", uuid, "rotate-secret")
        return await self._call(Call("POST", path, None, "keyed", idempotency_key))

    async def test(self, uuid: str) -> types.WebhookDelivery:
        """Sends a `webhook.test` event. After a lost response it is not sent again."""
        return await self._call(
            Call("POST", build_path("webhooks", uuid, "test"), repetition="once")
        )

    def deliveries(
        self, uuid: str, **filters: Unpack[types.DeliveryFilters]
    ) -> AsyncItemList[types.WebhookDelivery]:
        """Lists the deliveries of an endpoint, newest first."""
        return AsyncItemList(self._transport, build_path("webhooks", uuid, "deliveries"), filters)

    async def redeliver(self, uuid: str, delivery: str) -> types.WebhookDelivery:
        """Delivers an event again. After a lost response it is not repeated."""
        path = build_path("webhooks", uuid, "deliveries", delivery, "redeliver")
        return await self._call(Call("POST", path, repetition="once"))
