"""Runs each test of a client with the synchronous and the asynchronous one."""

from __future__ import annotations

import asyncio
import sys
import unittest
from typing import Any, Type
from unittest import mock

from genmeter import AsyncGenmeter, Genmeter, GenmeterError

from .fake_service import FakeService

KEY = f"svc_{'0' * 40}"


class ClientTest(unittest.TestCase):
    """A test case whose clients send requests to a fake service."""

    #: The class of the clients, which `in_both_modes` sets.
    mode: Any = Genmeter

    def setUp(self) -> None:
        self.service = FakeService()
        self.addCleanup(self.service.stop)
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        delay = mock.patch("genmeter._transport._BASE_DELAY", 0.01)
        delay.start()
        self.addCleanup(delay.stop)

    def open(self, **options: Any) -> Any:
        client = self.mode(**{"base_url": self.service.url, "key": KEY, **options})
        self.addCleanup(lambda: self.run_it(client.close()))
        return client

    def run_it(self, result: Any) -> Any:
        """Returns the result of a call, which is a coroutine of the asynchronous client."""
        return self.loop.run_until_complete(result) if asyncio.iscoroutine(result) else result

    def read(self, items: Any) -> list[Any]:
        if self.mode is Genmeter:
            return list(items)

        async def read_all() -> list[Any]:
            return [item async for item in items]

        return self.run_it(read_all())

    def fail_with(self, call: Any) -> GenmeterError:
        """Returns the error of a call."""
        with self.assertRaises(GenmeterError) as caught:
            self.run_it(call())
        return caught.exception


def in_both_modes(case: Type[ClientTest]) -> Type[ClientTest]:
    """Adds the test case for the asynchronous client to the module of a test case."""
    name = f"Async{case.__name__}"
    module = sys.modules[case.__module__]
    setattr(
        module, name, type(name, (case,), {"mode": AsyncGenmeter, "__module__": module.__name__})
    )
    return case
