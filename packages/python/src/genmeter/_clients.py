"""The clients."""

from __future__ import annotations

import asyncio
import ssl
from typing import Optional

from . import _blocking_groups as blocking
from . import _groups as groups
from ._http import AsyncTransport, BlockingTransport


class Genmeter:
    """Client of a genmeter service. Several threads may use it.

    Connections stay open for the next request. `close`, or the end of a `with` block, closes them.

    `base_url`: address of the service, such as `https://api.example.com`.
    `key`: API key (`svc_...`). Without one only models and plans can be read.
    `timeout`: seconds after which an attempt without a complete response fails.
    `max_retries`: further attempts of a request that failed for a transient reason and can be
    repeated safely.
    `ssl_context`: replaces `ssl.create_default_context()`, for example to trust another authority.
    """

    def __init__(
        self,
        *,
        base_url: str,
        key: Optional[str] = None,
        timeout: float = 60,
        max_retries: int = 4,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        transport = BlockingTransport(base_url, key, timeout, max_retries, ssl_context)
        self._transport = transport
        self.generations = blocking.Generations(groups.AsyncGenerations(transport))
        self.models = blocking.Models(groups.AsyncModels(transport))
        self.plans = blocking.Plans(groups.AsyncPlans(transport))
        self.usage = blocking.Usage(groups.AsyncUsage(transport))
        self.ledger = blocking.Ledger(groups.AsyncLedger(transport))
        self.keys = blocking.Keys(groups.AsyncKeys(transport))
        self.gift_codes = blocking.GiftCodes(groups.AsyncGiftCodes(transport))
        self.uploads = blocking.Uploads(groups.AsyncUploads(transport))
        self.webhooks = blocking.Webhooks(groups.AsyncWebhooks(transport))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Genmeter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncGenmeter:
    """Client of a genmeter service for asyncio, with the options and methods of `Genmeter`.

    Canceling the task of a request ends the request.
    """

    def __init__(
        self,
        *,
        base_url: str,
        key: Optional[str] = None,
        timeout: float = 60,
        max_retries: int = 4,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        transport = AsyncTransport(base_url, key, timeout, max_retries, ssl_context)
        self._transport = transport
        self.generations = groups.AsyncGenerations(transport)
        self.models = groups.AsyncModels(transport)
        self.plans = groups.AsyncPlans(transport)
        self.usage = groups.AsyncUsage(transport)
        self.ledger = groups.AsyncLedger(transport)
        self.keys = groups.AsyncKeys(transport)
        self.gift_codes = groups.AsyncGiftCodes(transport)
        self.uploads = groups.AsyncUploads(transport)
        self.webhooks = groups.AsyncWebhooks(transport)

    async def close(self) -> None:
        self._transport.close()
        # The sockets are closed in the next cycle of the event loop.
        await asyncio.sleep(0)

    async def __aenter__(self) -> AsyncGenmeter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
