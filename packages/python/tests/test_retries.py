"""Retries: what is repeated, when, and with which effect."""

from __future__ import annotations

import asyncio
import gc
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import warnings
from email.utils import formatdate
from pathlib import Path
from typing import Any

from genmeter import AsyncGenmeter, Genmeter
from genmeter._transport import compute_retry_delay, parse_retry_after

from .client_modes import ClientTest, in_both_modes
from .fake_service import FakeService, drop, reject, reply, reply_with, send, stay_silent
from .test_requests import CREATE, GENERATION

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
TRANSIENT = [
    reject(429, "rate_limited"),
    reject(503, "internal_error"),
    reply_with(b"<h1>Bad gateway</h1>", 502),
    drop,
    send(HEAD + b"{"),
    send(b"SSH-2.0\r\n\r\n"),
]


@in_both_modes
class RetryTest(ClientTest):
    def test_a_create_is_repeated_with_the_same_idempotency_key(self) -> None:
        for answer in TRANSIENT:
            self.service.received.clear()
            self.service.answers = [answer, answer, reply(GENERATION)]
            self.assertEqual(self.run_it(self.open().generations.create(**CREATE)), GENERATION)
            keys = [request.headers["idempotency-key"] for request in self.service.received]
            self.assertEqual(keys, [keys[0]] * 3)

    def test_two_creates_have_different_keys_unless_the_caller_passes_one(self) -> None:
        generations = self.open().generations
        for options in ({}, {}, {"idempotency_key": "order 1"}, {"idempotency_key": "order 1"}):
            self.run_it(generations.create(**CREATE, **options))
        first, second, *others = [one.headers["idempotency-key"] for one in self.service.received]
        self.assertNotEqual(first, second)
        self.assertEqual(others, ["order 1", "order 1"])

    def test_a_request_ends_after_the_retries_with_the_last_error(self) -> None:
        self.service.answers = [drop, *[reject(503, "internal_error")] * 9]
        error = self.fail_with(self.open(max_retries=2).usage.summary)
        self.assertEqual((error.code, error.status), ("internal_error", 503))
        self.assertEqual(len(self.service.received), 3)

    def test_a_lost_create_is_not_reported_as_rejected_by_the_rate_limit(self) -> None:
        self.service.answers = [drop, reject(429, "rate_limited", Retry_After="61")]
        error = self.fail_with(lambda: self.open().generations.create(**CREATE))
        self.assertEqual((error.code, len(self.service.received)), ("network_error", 2))

    def test_an_error_of_the_request_is_not_repeated(self) -> None:
        for status, code in ((400, "validation_error"), (409, "parallel_limit_reached")):
            self.service.received.clear()
            self.service.answers = [reject(status, code)]
            self.assertEqual(self.fail_with(self.open().usage.summary).code, code)
            self.assertEqual(len(self.service.received), 1)
        self.service.answers = [reject(500, "internal_error")]
        self.assertEqual(self.fail_with(self.open().usage.summary).status, 500)

    def test_a_request_that_may_have_been_executed_is_repeated_only_if_that_is_safe(self) -> None:
        webhooks = self.open().webhooks
        for answer in (drop, reject(503, "internal_error")):
            self.service.received.clear()
            self.service.answers = [answer]
            self.fail_with(lambda: webhooks.test("one"))
            self.assertEqual(len(self.service.received), 1)
        self.service.answers = [reject(429, "rate_limited"), reply({"uuid": "two"})]
        self.assertEqual(self.run_it(webhooks.redeliver("one", "two")), {"uuid": "two"})
        # A connection that was left open may have been closed, so each has one of its own.
        ports = {request.port for request in self.service.received}
        self.assertEqual(len(ports), len(self.service.received))

    def test_a_delete_that_finds_nothing_after_a_lost_response_succeeds(self) -> None:
        missing = reject(404, "not_found")
        self.service.answers = [drop, missing]
        self.assertIsNone(self.run_it(self.open().generations.delete("one")))
        for answers in ([missing], [reject(429, "rate_limited"), missing]):
            self.service.answers = list(answers)
            error = self.fail_with(lambda: self.open().generations.delete("one"))
            self.assertEqual(error.code, "not_found")

    def test_retry_after_is_the_shortest_pause(self) -> None:
        self.service.answers = [reject(429, "rate_limited", Retry_After="1")]
        started_at = time.monotonic()
        self.run_it(self.open().usage.summary())
        self.assertGreaterEqual(time.monotonic() - started_at, 1)

    def test_a_retry_after_of_more_than_a_minute_is_not_waited_for(self) -> None:
        self.service.answers = [reject(503, "internal_error", Retry_After="61")]
        self.assertEqual(self.fail_with(self.open().usage.summary).retry_after, 61)

    def test_without_a_listener_the_error_is_network_error(self) -> None:
        error = self.fail_with(
            self.open(base_url="http://127.0.0.1:1", max_retries=1).usage.summary
        )
        self.assertEqual((error.code, error.status), ("network_error", None))
        self.assertIn("http://127.0.0.1:1", error.detail)

    def test_an_attempt_ends_after_the_timeout_however_its_response_arrives(self) -> None:
        for answer in (
            stay_silent,
            send(*[HEAD[index : index + 1] for index in range(len(HEAD))], pause=0.1),
            send(HEAD, *[b" "] * 99, pause=0.1),
        ):
            self.service.answers = [answer]
            started_at = time.monotonic()
            error = self.fail_with(self.open(timeout=0.3, max_retries=0).usage.summary)
            self.assertEqual((error.code, error.status), ("timeout", None))
            self.assertLess(time.monotonic() - started_at, 3)

    def test_a_late_response_is_not_used_for_another_request(self) -> None:
        late = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull"
        self.service.answers = [send(b"", late, pause=0.5), reply({"plan": None})]
        self.assertEqual(self.run_it(self.open(timeout=0.3).usage.summary()), {"plan": None})

    def test_bytes_after_a_response_are_not_the_response_to_the_next_request(self) -> None:
        response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"
        self.service.answers = [send(response * 2, closes=False), reply([1])]
        plans = self.open().plans
        self.assertEqual([self.run_it(plans.list()) for _ in range(2)], [[], [1]])


@in_both_modes
class WaitTest(ClientTest):
    def test_wait_holds_reads_until_the_generation_has_ended(self) -> None:
        queued = {**GENERATION, "status": "queued"}
        self.service.answers = [
            reply(queued),
            drop,
            reject(503, "internal_error"),
            reply(GENERATION),
        ]
        started_at = time.monotonic()
        self.assertEqual(self.run_it(self.open().generations.wait("one")), GENERATION)
        self.assertEqual(self.service.paths, ["/api/generations/one/?wait=30"] * 4)
        # A service that does not hold the response back is read at most every two seconds.
        self.assertGreaterEqual(time.monotonic() - started_at, 2)

    def test_wait_ends_after_its_timeout(self) -> None:
        queued = {**GENERATION, "status": "queued"}
        for answer in (stay_silent, reply(queued), reject(503, "internal_error", Retry_After="5")):
            self.service.answers = [answer] * 9
            started_at = time.monotonic()
            error = self.fail_with(lambda: self.open().generations.wait("one", timeout=0.4))
            self.assertEqual((error.code, error.status), ("timeout", None))
            self.assertEqual(error.detail, "Generation one has not ended within 0.4 seconds.")
            self.assertLess(time.monotonic() - started_at, 3)

    def test_wait_raises_an_error_of_its_request(self) -> None:
        self.service.answers = [reject(404, "not_found")]
        error = self.fail_with(lambda: self.open().generations.wait("one", timeout=9))
        self.assertEqual(error.code, "not_found")


class AsyncTest(ClientTest):
    mode = AsyncGenmeter

    def test_canceling_a_task_ends_its_request(self) -> None:
        self.service.answers = [stay_silent]
        client = self.open()

        async def cancel() -> None:
            task = asyncio.ensure_future(client.generations.wait("one"))
            while not self.service.received:
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        self.run_it(cancel())
        self.run_it(asyncio.sleep(0.01))
        self.assertTrue(self.service.was_abandoned.wait(2))
        self.assertEqual(len(self.service.received), 1)

    def test_requests_run_at_the_same_time(self) -> None:
        # None is answered before all have arrived.
        arrivals = threading.Barrier(40)

        def answer(handler: Any) -> None:
            arrivals.wait(20)
            reply({})(handler)

        self.service.answers = [answer] * 40
        client = self.open()

        async def send_all() -> list[Any]:
            return await asyncio.gather(*[client.usage.summary() for _ in range(40)])

        self.assertEqual(self.run_it(send_all()), [{}] * 40)
        self.assertEqual(len(self.service.received), 40)

    def test_a_client_may_be_used_in_another_event_loop(self) -> None:
        client = AsyncGenmeter(base_url=self.service.url)
        with warnings.catch_warnings():
            # The connections of a loop that has ended cannot be closed.
            warnings.simplefilter("ignore", ResourceWarning)
            for _ in range(2):
                asyncio.run(client.usage.summary())
            del client
            gc.collect()
        self.assertEqual(len(self.service.received), 2)


class BlockingTest(ClientTest):
    def test_threads_share_a_client(self) -> None:
        self.service.answers = [reply({"index": index}) for index in range(60)]
        client, results = self.open(), []

        def send_some() -> None:
            for _ in range(10):
                results.append(client.usage.summary()["index"])

        threads = [threading.Thread(target=send_some) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), list(range(60)))
        self.assertLessEqual(len({request.port for request in self.service.received}), 6)

    def test_it_runs_within_an_event_loop(self) -> None:
        async def read() -> Any:
            return self.open().usage.summary()

        self.service.answers = [reply({"plan": None})]
        self.assertEqual(self.loop.run_until_complete(read()), {"plan": None})


@unittest.skipUnless(shutil.which("openssl"), "openssl, which creates the certificate, is missing")
class TlsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        names = "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key -out cert"
        subprocess.run(f"{command} {names}".split(), cwd=folder, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert", folder / "key")
        self.service = FakeService(context)
        self.addCleanup(self.service.stop)
        self.trusting = ssl.create_default_context(cafile=str(folder / "cert"))

    def enter(self, manager: Any) -> Any:
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()

    def test_both_clients_send_requests_to_a_server_that_they_trust(self) -> None:
        with Genmeter(base_url=self.service.url, ssl_context=self.trusting) as client:
            for _ in range(2):
                self.assertEqual(client.usage.summary(), {})

        async def read() -> Any:
            url, context = self.service.url, self.trusting
            async with AsyncGenmeter(base_url=url, ssl_context=context) as client:
                return [await client.usage.summary() for _ in range(2)]

        self.assertEqual(asyncio.run(read()), [{}, {}])
        self.assertEqual(len({request.port for request in self.service.received}), 2)

    def test_a_server_with_an_unknown_certificate_receives_no_request(self) -> None:
        with self.assertRaisesRegex(Exception, "(?i)certificate"):
            Genmeter(base_url=self.service.url, max_retries=0).usage.summary()
        with self.assertRaisesRegex(Exception, "(?i)certificate"):
            asyncio.run(AsyncGenmeter(base_url=self.service.url, max_retries=0).usage.summary())
        self.assertEqual(self.service.received, [])


class BackoffTest(unittest.TestCase):
    def test_pauses_grow_from_half_a_second_to_eight_with_jitter(self) -> None:
        for attempt, longest in enumerate((0.5, 1, 2, 4, 8, 8)):
            delays = [compute_retry_delay(attempt, None) or 0 for _ in range(200)]
            self.assertLessEqual(max(delays), longest)
            self.assertGreaterEqual(min(delays), longest / 2)
            self.assertGreater(max(delays) - min(delays), longest / 8)

    def test_retry_after_is_seconds_or_a_date(self) -> None:
        self.assertEqual(parse_retry_after(" 30 "), 30)
        date = parse_retry_after(formatdate(time.time() + 30, usegmt=True))
        self.assertTrue(date is not None and 28 < date <= 30)
        self.assertEqual(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0)
        for value in (None, "", "soon", "-1"):
            self.assertIsNone(parse_retry_after(value))
        delay = compute_retry_delay(0, 60)
        self.assertTrue(delay is not None and 60 <= delay <= 60.5)
        self.assertIsNone(compute_retry_delay(0, 60.1))
