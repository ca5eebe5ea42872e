"""HTTP/1.1 over asyncio streams, and over sockets that block.

The asynchronous client uses streams rather than threads: canceling a task ends its request, and
requests that wait for a generation take no thread. The synchronous client runs the same code over
streams that never suspend.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import re
import socket
import time
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from ._transport import Request, Response, Transport

R = TypeVar("R")

#: Seconds after which an idle connection is not used again: proxies close it after a minute.
_IDLE_SECONDS = 30.0
_IDLE_CONNECTIONS_MAX = 20
_HEAD_BYTES_MAX = 65_536
_RECEIVED_BYTES = 65_536


class _Stream:
    """A connection."""

    #: `time.monotonic()` at which reading and writing fail, and at which the last exchange ended.
    ends_at = 0.0
    idle_since = 0.0

    def __init__(self) -> None:
        self._buffer = bytearray()

    def is_usable(self) -> bool:
        """Returns whether another request may use it. Bytes after a response belong to none."""
        return time.monotonic() - self.idle_since < _IDLE_SECONDS and not self._buffer

    async def write(self, data: bytes) -> None:
        raise NotImplementedError

    async def receive(self) -> bytes:
        """Returns the next bytes; none after the last ones."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    async def read_until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise http.client.HTTPException("the head of the response is too long")
            await self._fill()
        return self._take(self._buffer.index(end) + len(end))

    async def read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._fill()
        return self._take(size)

    async def read_all(self) -> bytes:
        while data := await self.receive():
            self._buffer += data
        return self._take(len(self._buffer))

    async def _fill(self) -> None:
        data = await self.receive()
        if not data:
            raise EOFError("the connection was closed")
        self._buffer += data

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


class _HttpTransport(Transport):
    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self._idle: dict[str, list[_Stream]] = {}

    async def exchange(self, request: Request) -> Response:
        url = urlsplit(request.url)
        # Threads may share the list: its methods are atomic.
        idle = self._idle.setdefault(f"{url.scheme}://{url.netloc}", [])
        stream = self._take(idle) if request.may_reuse else None
        stream = stream or await self._open(url, request.ends_at)
        try:
            stream.ends_at = request.ends_at
            await stream.write(_format_request(request, url))
            response, stays_open = await _read_response(stream)
        except BaseException:
            stream.close()
            raise
        if stays_open and len(idle) < _IDLE_CONNECTIONS_MAX:
            stream.idle_since = time.monotonic()
            idle.append(stream)
        else:
            stream.close()
        return response

    def close(self) -> None:
        for streams in self._idle.values():
            while streams:
                streams.pop().close()

    async def _open(self, url: SplitResult, ends_at: float) -> _Stream:
        raise NotImplementedError

    def _take(self, idle: list[_Stream]) -> _Stream | None:
        while idle:
            stream = idle.pop()
            if stream.is_usable():
                return stream
            stream.close()
        return None


class AsyncTransport(_HttpTransport):
    async def exchange(self, request: Request) -> Response:
        timeout = request.ends_at - time.monotonic()
        return await asyncio.wait_for(super().exchange(request), timeout)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _open(self, url: SplitResult, ends_at: float) -> _Stream:
        context = self.get_ssl_context() if url.scheme == "https" else None
        return _AsyncStream(
            *await asyncio.open_connection(url.hostname, _get_port(url), ssl=context)
        )


class _AsyncStream(_Stream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()

    def is_usable(self) -> bool:
        is_closed = self._reader.at_eof() or self._writer.is_closing()
        is_of_loop = self._loop is asyncio.get_running_loop()
        return super().is_usable() and is_of_loop and not is_closed

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> bytes:
        return await self._reader.read(_RECEIVED_BYTES)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._writer.transport.abort()


class BlockingTransport(_HttpTransport):
    """Its coroutines never suspend: `run_blocking` runs them in the calling thread."""

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def _open(self, url: SplitResult, ends_at: float) -> _Stream:
        address = (url.hostname or "", _get_port(url))
        sock = socket.create_connection(address, _compute_remaining(ends_at))
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if url.scheme == "https":
                sock.settimeout(_compute_remaining(ends_at))
                sock = self.get_ssl_context().wrap_socket(sock, server_hostname=url.hostname)
        except BaseException:
            sock.close()
            raise
        return _BlockingStream(sock)


class _BlockingStream(_Stream):
    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock

    async def write(self, data: bytes) -> None:
        self._sock.settimeout(_compute_remaining(self.ends_at))
        self._sock.sendall(data)

    async def receive(self) -> bytes:
        self._sock.settimeout(_compute_remaining(self.ends_at))
        return self._sock.recv(_RECEIVED_BYTES)

    def close(self) -> None:
        self._sock.close()


def run_blocking(coroutine: Any) -> Any:
    """Runs a coroutine of a BlockingTransport to its end."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("The coroutine suspended.")


def _compute_remaining(ends_at: float) -> float:
    remaining = ends_at - time.monotonic()
    if remaining <= 0:
        raise socket.timeout("timed out")
    return remaining


def _get_port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


class _Formatter(http.client.HTTPConnection):
    """Collects what it would send."""

    def __init__(self, url: SplitResult) -> None:
        # The header `Host` leaves out this port.
        self.default_port = 443 if url.scheme == "https" else 80
        super().__init__(url.hostname or "", url.port)
        self.output = b""

    def send(self, data: Any) -> None:
        self.output += data


def _format_request(request: Request, url: SplitResult) -> bytes:
    formatter = _Formatter(url)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    formatter.request(request.method, target, request.body, request.headers)
    return formatter.output


async def _read_response(stream: _Stream) -> tuple[Response, bool]:
    """Reads a response; also returns whether its connection can be used again."""
    while True:
        head = await stream.read_until(b"\r\n\r\n")
        line, _, fields = head.partition(b"\r\n")
        match = re.fullmatch(rb"HTTP/1\.([01]) ([0-9]{3})(?: .*)?", line)
        if match is None:
            raise http.client.BadStatusLine(repr(line))
        status = int(match[2])
        # Others are of the type "100 Continue", and a response follows.
        if status >= 200:
            break
    headers = http.client.parse_headers(io.BytesIO(fields))
    length = headers.get("content-length", "")
    stays_open = match[1] == b"1" and headers.get("connection", "").lower() != "close"
    if status in (204, 304):
        body = b""
    elif headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(stream)
    elif re.fullmatch("[0-9]{1,15}", length):
        body = await stream.read_exactly(int(length))
    else:
        # It ends with the connection.
        body, stays_open = await stream.read_all(), False
    return Response(status, headers, body), stays_open


async def _read_chunks(stream: _Stream) -> bytes:
    chunks: list[bytes] = []
    while True:
        line = await stream.read_until(b"\r\n")
        match = re.match(rb"[0-9A-Fa-f]{1,15}(?=[\s;])", line)
        if match is None:
            raise http.client.HTTPException("a chunk of the response has no length")
        if int(match[0], 16) == 0:
            break
        chunks.append(await stream.read_exactly(int(match[0], 16)))
        await stream.read_until(b"\r\n")
    while await stream.read_until(b"\r\n") != b"\r\n":
        pass
    return b"".join(chunks)
