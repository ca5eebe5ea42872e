"""The groups of methods of the synchronous client: those of the asynchronous one without await."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _groups as groups
from ._http import run_blocking
from ._lists import AsyncItemList, ItemList

if TYPE_CHECKING:
    # Part of every type checker; not needed at run time.
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")
T = TypeVar("T", bound=Mapping[str, Any])


def _run(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Any, P], R]:
    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        result: R = run_blocking(method(self._group, *args, **options))
        return result

    return call


def _list(
    method: Callable[Concatenate[Any, P], AsyncItemList[T]],
) -> Callable[Concatenate[Any, P], ItemList[T]]:
    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> ItemList[T]:
        return ItemList(method(self._group, *args, **options))

    return call


class _BlockingGroup:
    def __init__(self, group: groups.Group) -> None:
        self._group = group


class Generations(_BlockingGroup):
    __doc__ = groups.AsyncGenerations.__doc__
    create = _run(groups.AsyncGenerations.create)
    estimate = _run(groups.AsyncGenerations.estimate)
    get = _run(groups.AsyncGenerations.get)
    wait = _run(groups.AsyncGenerations.wait)
    list = _list(groups.AsyncGenerations.list)
    cancel = _run(groups.AsyncGenerations.cancel)
    delete = _run(groups.AsyncGenerations.delete)
    download = _run(groups.AsyncGenerations.download)


class Models(_BlockingGroup):
    __doc__ = groups.AsyncModels.__doc__
    list = _list(groups.AsyncModels.list)


class Plans(_BlockingGroup):
    __doc__ = groups.AsyncPlans.__doc__
    list = _run(groups.AsyncPlans.list)


class Usage(_BlockingGroup):
    __doc__ = groups.AsyncUsage.__doc__
    summary = _run(groups.AsyncUsage.summary)
    by_key = _list(groups.AsyncUsage.by_key)


class Ledger(_BlockingGroup):
    __doc__ = groups.AsyncLedger.__doc__
    list = _list(groups.AsyncLedger.list)


class GiftCodes(_BlockingGroup):
    __doc__ = groups.AsyncGiftCodes.__doc__
    redeem = _run(groups.AsyncGiftCodes.redeem)


class Keys(_BlockingGroup):
    __doc__ = groups.AsyncKeys.__doc__
    create = _run(groups.AsyncKeys.create)
    list = _list(groups.AsyncKeys.list)
    update = _run(groups.AsyncKeys.update)
    revoke = _run(groups.AsyncKeys.revoke)


class Uploads(_BlockingGroup):
    __doc__ = groups.AsyncUploads.__doc__
    create = _run(groups.AsyncUploads.create)
    send = _run(groups.AsyncUploads.send)
    get = _run(groups.AsyncUploads.get)
    upload = _run(groups.AsyncUploads.upload)


class Webhooks(_BlockingGroup):
    __doc__ = groups.AsyncWebhooks.__doc__
    create = _run(groups.AsyncWebhooks.create)
    get = _run(groups.AsyncWebhooks.get)
    list = _list(groups.AsyncWebhooks.list)
    update = _run(groups.AsyncWebhooks.update)
    delete = _run(groups.AsyncWebhooks.delete)
    rotate_secret = _run(groups.AsyncWebhooks.rotate_secret)
    test = _run(groups.AsyncWebhooks.test)
    deliveries = _list(groups.AsyncWebhooks.deliveries)
    redeliver = _run(groups.AsyncWebhooks.redeliver)
