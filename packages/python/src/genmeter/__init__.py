"""Client of the genmeter API. The types of its objects are in `genmeter.types`."""

from ._clients import AsyncGenmeter, Genmeter
from ._lists import AsyncItemList, ItemList, Page
from ._transport import VERSION as __version__
from .errors import GenmeterError
from .webhooks import WebhookVerificationError, verify_webhook

__all__ = [
    "AsyncGenmeter",
    "AsyncItemList",
    "Genmeter",
    "GenmeterError",
    "ItemList",
    "Page",
    "WebhookVerificationError",
    "__version__",
    "verify_webhook",
]
