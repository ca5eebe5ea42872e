"""Requests: what is sent, and what is made of responses."""

from __future__ import annotations

import inspect
import json
import pickle
from typing import Any

from genmeter import AsyncGenmeter, Genmeter

from .client_modes import KEY, ClientTest, in_both_modes
from .fake_service import drop, reject, reply, reply_with, send

GENERATION = {"uuid": "one", "status": "succeeded", "output_url": None}
CREATE: Any = {"model": "imgmodel-2", "prompt": "A lighthouse", "params": {"resolution": "1K"}}


@in_both_modes
class RequestTest(ClientTest):
    def test_create_sends_json_with_the_key_and_an_idempotency_key(self) -> None:
        self.service.answers = [reply(GENERATION)]
        self.assertEqual(self.run_it(self.open().generations.create(**CREATE)), GENERATION)
        (request,) = self.service.received
        self.assertEqual((request.method, request.path), ("POST", "/api/generations/create/"))
        self.assertEqual(json.loads(request.body), CREATE)
        self.assertEqual(request.headers["authorization"], f"Bearer {KEY}")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertRegex(request.headers["idempotency-key"], "^[0-9a-f]{32}$")

    def test_paths_of_all_methods_are_those_of_the_interface(self) -> None:
        client = self.open()
        calls = [
            (client.generations.estimate(**CREATE), "POST /api/generations/estimate/"),
            (client.generations.get("a/b"), "GET /api/generations/a%2Fb/"),
            (client.generations.cancel("a"), "POST /api/generations/a/cancel/"),
            (client.generations.delete("a"), "DELETE /api/generations/a/"),
            (client.plans.list(), "GET /api/billing/plans/"),
            (client.usage.summary(), "GET /api/usage/summary/"),
            (client.gift_codes.redeem("GIFT"), "POST /api/gift-codes/redeem/"),
            (client.keys.create(name="a"), "POST /api/keys/create/"),
            (client.keys.update("a", expires_at=None), "PATCH /api/keys/a/"),
            (client.keys.revoke("a"), "POST /api/keys/a/revoke/"),
            (client.webhooks.create(url="a"), "POST /api/webhooks/create/"),
            (client.webhooks.get("a"), "GET /api/webhooks/a/"),
            (client.webhooks.update("a", enabled=True), "PATCH /api/webhooks/a/"),
            (client.webhooks.delete("a"), "DELETE /api/webhooks/a/"),
            (client.webhooks.rotate_secret("a"), "POST /api/webhooks/a/rotate-secret/"),
            (client.webhooks.test("a"), "POST /api/webhooks/a/test/"),
            (client.webhooks.redeliver("a", "b"), "POST /api/webhooks/a/deliveries/b/redeliver/"),
            (client.uploads.create(content_type="image/png", bytes=1), "POST /api/uploads/create/"),
            (client.uploads.get("a"), "GET /api/uploads/a/"),
        ]
        for call, _ in calls:
            self.run_it(call)
        sent = [f"{request.method} {request.path}" for request in self.service.received]
        self.assertEqual(sent, [expected for _, expected in calls])
        keyed = {one.path for one in self.service.received if "idempotency-key" in one.headers}
        self.assertEqual(
            keyed,
            {
                "/api/gift-codes/redeem/",
                "/api/keys/create/",
                "/api/webhooks/create/",
                "/api/webhooks/a/rotate-secret/",
            },
        )

    def test_both_clients_have_the_same_methods(self) -> None:
        def list_methods(client: object) -> dict[str, str]:
            return {
                f"{group}.{name}": str(inspect.signature(getattr(value, name)))
                for group, value in vars(client).items()
                for name in dir(value)
                if not group.startswith("_") and not name.startswith("_")
            }

        blocking, asynchronous = Genmeter(base_url="http://a"), AsyncGenmeter(base_url="http://a")
        self.assertEqual(list_methods(blocking).keys(), list_methods(asynchronous).keys())
        self.assertGreater(len(list_methods(blocking)), 30)

    def test_connections_stay_open_for_the_next_request(self) -> None:
        client = self.open()
        for _ in range(3):
            self.run_it(client.usage.summary())
        self.assertEqual(len({request.port for request in self.service.received}), 1)

    def test_a_connection_that_was_closed_meanwhile_is_replaced(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        self.service.answers = [send(head), reply({"plan": None})]
        client = self.open()
        self.run_it(client.usage.summary())
        self.assertEqual(self.run_it(client.usage.summary()), {"plan": None})

    def test_responses_may_be_chunked_preceded_by_100_and_end_with_the_connection(self) -> None:
        chunks = b"5;a=b\r\n[1, 2\r\n4\r\n, 3]\r\n0\r\nTrailer: a\r\n\r\n"
        self.service.answers = [
            send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks),
            send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Length: 3\r\n\r\n[1]"),
            send(b"HTTP/1.0 200 OK\r\n\r\n[2]"),
            send(b"HTTP/1.1 204 No Content\r\n\r\n"),
        ]
        plans = self.open().plans
        results = [self.run_it(plans.list()) for _ in range(4)]
        self.assertEqual(results, [[1, 2, 3], [1], [2], None])

    def test_errors_have_the_code_the_detail_and_the_request_id(self) -> None:
        self.service.answers = [reject(402, "insufficient_credits", X_Request_Id="abc")]
        error = self.fail_with(lambda: self.open().generations.create(**CREATE))
        self.assertEqual((error.code, error.detail), ("insufficient_credits", "A sentence."))
        self.assertEqual((error.status, error.request_id, error.retry_after), (402, "abc", None))
        self.assertEqual(str(error), "A sentence.")
        copy: Any = pickle.loads(pickle.dumps(error))
        self.assertEqual(vars(copy), vars(error))

    def test_responses_that_are_not_of_the_service_are_unexpected(self) -> None:
        client = self.open(max_retries=0)
        self.service.answers = [
            reply_with(b"<h1>Hello</h1>"),
            reply_with(b"<h1>Bad gateway</h1>", 502),
            reply_with(b"", 301, Location="https://example.com/"),
        ]
        errors = [self.fail_with(client.usage.summary) for _ in range(3)]
        self.assertEqual({error.code for error in errors}, {"unexpected_response"})
        self.assertEqual([error.status for error in errors], [200, 502, 301])
        self.assertIn("https://example.com/", errors[2].detail)

    def test_options_that_cannot_be_valid_are_rejected(self) -> None:
        for options in (
            {"base_url": "localhost:3000"},
            {"base_url": "ftp://example.com"},
            {"base_url": "https://user@example.com"},
            {"base_url": "https://example.com/?a=b"},
            {"base_url": "http://example.com:port"},
            {"key": "svc_ä"},
            {"timeout": 0},
            {"timeout": float("nan")},
            {"max_retries": -1},
        ):
            with self.subTest(options), self.assertRaises(ValueError):
                self.open(**options)
        for key in ("", "a\nb", "ä"):
            with self.subTest(key), self.assertRaises(ValueError):
                self.run_it(self.open().generations.create(**CREATE, idempotency_key=key))
        self.assertEqual(self.service.received, [])


@in_both_modes
class ListTest(ClientTest):
    def answer_pages(self, *pages: list[str]) -> None:
        self.service.answers = [
            reply(
                {
                    "data": [{"uuid": uuid} for uuid in uuids],
                    "pagination": {"next": "next" if number < len(pages) else None},
                }
            )
            for number, uuids in enumerate(pages, 1)
        ]

    def test_a_list_is_read_page_by_page_and_returns_each_item_once(self) -> None:
        self.answer_pages(["a", "b"], ["b", "c"], ["d"])
        items = self.open().generations.list(kind="image", metadata={"a b": "ä&="})
        self.assertEqual(self.service.paths, [])
        self.assertEqual([item["uuid"] for item in self.read(items)], ["a", "b", "c", "d"])
        query = "kind=image&metadata%5Ba+b%5D=%C3%A4%26%3D"
        expected = [f"/api/generations/?{query}&page={number}" for number in (1, 2, 3)]
        self.assertEqual(self.service.paths, expected)

    def test_a_page_is_read_alone(self) -> None:
        self.answer_pages(["a"])
        page = self.run_it(self.open().ledger.list(entry_type="burn").page(3))
        self.assertEqual((page.data, page.pagination), ([{"uuid": "a"}], {"next": None}))
        self.assertEqual(self.service.paths, ["/api/ledger/?entry_type=burn&page=3"])


@in_both_modes
class FileTest(ClientTest):
    def test_upload_sends_the_file_without_the_key(self) -> None:
        address = f"{self.service.url}/files/one?signature=a%2Fb"
        created = {"uuid": "one", "upload_url": address, "headers": {"Content-Type": "image/png"}}
        self.service.answers = [reply(created), reply_with(b""), reply({"status": "ready"})]
        result = self.run_it(self.open().uploads.upload(b"\x89PNG", "image/png"))
        self.assertEqual(result, {"status": "ready"})
        body, file, _ = self.service.received
        self.assertEqual(json.loads(body.body), {"content_type": "image/png", "bytes": 4})
        self.assertEqual(
            self.service.paths[1:], ["/files/one?signature=a%2Fb", "/api/uploads/one/"]
        )
        self.assertEqual((file.method, file.body), ("PUT", b"\x89PNG"))
        self.assertEqual(file.headers["content-type"], "image/png")
        self.assertNotIn("authorization", file.headers)

    def test_download_returns_the_output_also_after_a_lost_connection(self) -> None:
        data = bytes(range(256)) * 1_000
        half = b"HTTP/1.1 200 OK\r\nContent-Length: 256000\r\n\r\n" + data[:1_000]
        self.service.answers = [drop, send(half), reply_with(data)]
        generation = {**GENERATION, "output_url": f"{self.service.url}/files/one.png"}
        self.assertEqual(self.run_it(self.open().generations.download(generation)), data)
        self.assertEqual(self.service.paths, ["/files/one.png"] * 3)
        self.assertNotIn("authorization", self.service.received[0].headers)

    def test_download_rejects_a_generation_without_output(self) -> None:
        with self.assertRaises(ValueError):
            self.run_it(self.open().generations.download(GENERATION))
