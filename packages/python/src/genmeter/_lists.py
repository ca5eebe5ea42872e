"""Lists of the service, which are read page by page."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Generic, TypeVar

from ._http import run_blocking
from ._transport import Call, Transport
from .types import Pagination

T = TypeVar("T", bound=Mapping[str, Any])

#: Number of the latest items whose repetition is detected.
_REMEMBERED_ITEMS = 1_000


@dataclasses.dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list, with up to 20 items."""

    data: list[T]
    pagination: Pagination


class AsyncItemList(Generic[T]):
    """A list: `async for item in items`, or `await items.page(2)`. Nothing is requested before.

    Items that move to the next page because newer ones were added are returned once.
    """

    def __init__(self, transport: Transport, path: str, filters: Mapping[str, Any]) -> None:
        self._transport = transport
        self._path = path
        self._filters = filters

    async def page(self, number: int = 1) -> Page[T]:
        """Reads one page, from 1. After the last one `data` is empty."""
        call = Call[Any]("GET", self._path, query={**self._filters, "page": number})
        return Page(**await self._transport.request(call))

    async def __aiter__(self) -> AsyncIterator[T]:
        cursor = _Cursor(self)
        while not cursor.has_ended:
            for item in await cursor.advance():
                yield item


class ItemList(Generic[T]):
    """A list: `for item in items`, or `items.page(2)`. Nothing is requested before.

    Items that move to the next page because newer ones were added are returned once.
    """

    def __init__(self, items: AsyncItemList[T]) -> None:
        self._items = items

    def page(self, number: int = 1) -> Page[T]:
        """Reads one page, from 1. After the last one `data` is empty."""
        page: Page[T] = run_blocking(self._items.page(number))
        return page

    def __iter__(self) -> Iterator[T]:
        cursor = _Cursor(self._items)
        while not cursor.has_ended:
            yield from run_blocking(cursor.advance())


class _Cursor(Generic[T]):
    def __init__(self, items: AsyncItemList[T]) -> None:
        self.has_ended = False
        self._items = items
        self._number = 0
        # A dict keeps the order of insertion.
        self._returned: dict[str, None] = {}

    async def advance(self) -> list[T]:
        """Reads the next page and returns its items, without those that were returned before."""
        self._number += 1
        page = await self._items.page(self._number)
        items = [item for item in page.data if item["uuid"] not in self._returned]
        self._returned.update((item["uuid"], None) for item in items)
        for uuid in list(self._returned)[:-_REMEMBERED_ITEMS]:
            del self._returned[uuid]
        self.has_ended = page.pagination["next"] is None
        return items
