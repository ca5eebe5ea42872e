"""A service whose responses the tests determine, and which may misbehave."""

from __future__ import annotations

import dataclasses
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional

#: Carries out the answer to a request.
Answer = Callable[["_Handler"], None]


@dataclasses.dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    #: Port of the client, which is the same for requests on one connection.
    port: int


class FakeService:
    """Answers requests in the given order, and all others with an empty object."""

    def __init__(self, ssl_context: Optional[ssl.SSLContext] = None) -> None:
        self.answers: list[Answer] = []
        self.received: list[Received] = []
        #: Set when a client has closed its connection before the response.
        self.was_abandoned = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = self
        if ssl_context is not None:
            self._server.socket = ssl_context.wrap_socket(self._server.socket, server_side=True)
        scheme, host = ("http", "127.0.0.1") if ssl_context is None else ("https", "localhost")
        self.url = f"{scheme}://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.received]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 100
    service: FakeService

    def handle_error(self, *_: Any) -> None:
        """Connections that break are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_any(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.command, self.path, headers, body, self.client_address[1])
        service.received.append(received)
        answer = service.answers.pop(0) if service.answers else reply({})
        answer(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_: Any) -> None:
        pass


def reply(body: object, status: int = 200, **headers: str) -> Answer:
    """Responds with JSON."""
    return reply_with(json.dumps(body).encode(), status, **headers)


def reply_with(data: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def reject(status: int, error: str, **headers: str) -> Answer:
    return reply({"error": error, "detail": "A sentence."}, status, **headers)


def send(*parts: bytes, pause: float = 0, closes: bool = True) -> Answer:
    """Sends bytes as they are, with pauses after them, and closes the connection."""

    def answer(handler: _Handler) -> None:
        for part in parts:
            handler.wfile.write(part)
            time.sleep(pause)
        handler.close_connection = closes

    return answer


#: Closes the connection without a response.
drop = send()


def stay_silent(handler: _Handler) -> None:
    """Does not respond, and waits until the client closes the connection."""
    handler.connection.settimeout(5)
    try:
        if handler.connection.recv(1) == b"":
            handler.server.service.was_abandoned.set()
    except (ConnectionError, socket.timeout):
        pass
    handler.close_connection = True
