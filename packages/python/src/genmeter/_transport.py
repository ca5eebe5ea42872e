"""Requests of the API: attempts, retries, and the meaning of responses."""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import random
import re
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Literal, Optional, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

from .errors import GenmeterError
from .types import ErrorCode

R = TypeVar("R")

VERSION = "2.0.0"
#: Of a socket, of asyncio; from Python 3.11 on both are TimeoutError.
TIMEOUTS = (socket.timeout, asyncio.TimeoutError)
#: Errors of an attempt without a complete response.
FAILURES = (OSError, EOFError, http.client.HTTPException, *TIMEOUTS)

_BASE_DELAY = 0.5
_MAX_BACKOFF = 8.0
#: The longest `Retry-After` that is waited for; rate limits of the service reset within a minute.
_MAX_RETRY_AFTER = 60.0


@dataclasses.dataclass(frozen=True)
class Call(Generic[R]):
    """A request with a result of the type R."""

    method: str
    #: Path in the API, or the address of a file, to which the key is not sent.
    path: str
    #: An object for the API, or the bytes of a file.
    body: object = None
    #: Effect of a second execution: `safe` requests have the same effect again, `keyed` ones carry
    #: an `Idempotency-Key`. `once` is repeated only if the service did not execute it.
    repetition: Literal["safe", "keyed", "once"] = "safe"
    idempotency_key: Optional[str] = None
    query: Optional[Mapping[str, object]] = None
    headers: Optional[Mapping[str, str]] = None
    #: Seconds that an attempt may take in addition to the timeout.
    extra_time: float = 0
    #: `time.monotonic()` at which the request fails.
    ends_at: float = float("inf")

    @property
    def is_file(self) -> bool:
        return not self.path.startswith("/")


@dataclasses.dataclass(frozen=True)
class Request:
    """One attempt, which fails at `ends_at`."""

    method: str
    url: str
    headers: dict[str, str]
    body: Optional[bytes]
    #: Whether a connection of an earlier request may be used, which may have been closed meanwhile.
    may_reuse: bool
    ends_at: float = 0


@dataclasses.dataclass(frozen=True)
class Response:
    status: int
    headers: Message
    body: bytes


class Transport:
    """Sends requests, and repeats those that failed for a transient reason."""

    def __init__(
        self,
        base_url: str,
        key: Optional[str],
        timeout: float,
        max_retries: int,
        ssl_context: Optional[ssl.SSLContext],
    ) -> None:
        self._base_url = _parse_base_url(base_url)
        self._key = (key or "").strip()
        if not re.fullmatch(r"[\x21-\x7e]*", self._key):
            raise ValueError('key must be an API key: "svc_" followed by 40 hex characters.')
        if not 0 < timeout < float("inf"):
            raise ValueError("timeout must be a positive number of seconds.")
        if not max_retries >= 0:
            raise ValueError("max_retries must be a number of at least 0.")
        self._timeout = timeout
        self._max_retries = max_retries
        self._ssl_context = ssl_context

    def get_ssl_context(self) -> ssl.SSLContext:
        # Loading the authorities takes a while, and is not needed for http.
        self._ssl_context = self._ssl_context or ssl.create_default_context()
        return self._ssl_context

    async def exchange(self, request: Request) -> Response:
        """Makes an attempt. Raises one of FAILURES without a complete response."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    async def request(self, call: Call[R]) -> R:
        """Sends a request and returns the parsed body of its response."""
        request = self._build(call)
        #: Error of an attempt that the service may have executed.
        uncertain: Optional[GenmeterError] = None
        attempt = 0
        while True:
            try:
                ends_at = time.monotonic() + self._timeout + call.extra_time
                timed = dataclasses.replace(request, ends_at=min(ends_at, call.ends_at))
                result: R = _read(call, await self.exchange(timed))
                return result
            except FAILURES as failure:
                error = _describe(failure, request)
                error.__cause__ = failure
            except GenmeterError as rejection:
                error = rejection
            if error.status == 404 and call.method == "DELETE" and uncertain is not None:
                # The attempt whose response was lost has deleted it.
                return cast(R, None)
            if error.status is None or error.status >= 500:
                uncertain = error
            delay = compute_retry_delay(attempt, error.retry_after)
            remaining = call.ends_at - time.monotonic()
            is_last = attempt >= self._max_retries or remaining <= 0
            if is_last or delay is None or not _may_repeat(call, error):
                # A 429 says that its own attempt was not executed, and nothing of an earlier one.
                raise (uncertain or error) if error.status == 429 else error
            await self.sleep(min(delay, remaining))
            attempt += 1

    def _build(self, call: Call[Any]) -> Request:
        headers = {"User-Agent": f"genmeter-python/{VERSION}", **(call.headers or {})}
        may_reuse = call.repetition != "once"
        if call.is_file:
            file: Any = call.body
            return Request(call.method, call.path, headers, file, may_reuse)
        headers["Accept"] = "application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if call.repetition == "keyed":
            # The same in every attempt.
            key = secrets.token_hex(16) if call.idempotency_key is None else call.idempotency_key
            if not re.fullmatch(r"[\x20-\x7e]+", key):
                raise ValueError("idempotency_key must consist of printable ASCII characters.")
            headers["Idempotency-Key"] = key
        body = None
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(call.body).encode()
        url = f"{self._base_url}{call.path}{_format_query(call.query or {})}"
        return Request(call.method, url, headers, body, may_reuse)


def compute_retry_delay(attempt: int, retry_after: Optional[float]) -> Optional[float]:
    """Computes the pause before the next attempt: exponential back-off with jitter, but no less
    than the service asked for. None if the service asked for more than a minute.
    """
    if retry_after is not None and retry_after > _MAX_RETRY_AFTER:
        return None
    backoff = min(_MAX_BACKOFF, _BASE_DELAY * 2.0**attempt) * random.uniform(0.5, 1)
    if retry_after is None:
        return backoff
    # Spreads the clients that were rejected together.
    return max(backoff, retry_after + random.uniform(0, _BASE_DELAY))


def parse_retry_after(value: Optional[str]) -> Optional[float]:
    """Parses `Retry-After`: seconds, or a date."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def build_path(*segments: str) -> str:
    return f"/api/{'/'.join(quote(segment, safe='') for segment in segments)}/"


def _describe(failure: BaseException, request: Request) -> GenmeterError:
    url = urlsplit(request.url)
    origin = f"{url.scheme}://{url.netloc}"
    if isinstance(failure, TIMEOUTS):
        return GenmeterError("timeout", f"{origin} did not respond in time.")
    reason = str(failure).rstrip(".?!") or type(failure).__name__
    return GenmeterError("network_error", f"No response from {origin}: {reason}.")


def _may_repeat(call: Call[Any], error: GenmeterError) -> bool:
    """Returns whether a failed request may be sent again. A 429 was not executed. After any other
    transient failure it may have been, so only requests without a second effect are repeated.
    """
    is_transient = (
        error.status == 503
        or error.code in ("network_error", "timeout")
        or (error.code == "unexpected_response" and error.status in (502, 504))
    )
    return error.status == 429 or (is_transient and call.repetition != "once")


def _read(call: Call[Any], response: Response) -> Any:
    """Returns the body of a successful response; raises GenmeterError for every other one."""
    is_successful = 200 <= response.status < 300
    if is_successful and call.is_file:
        return response.body
    try:
        body = json.loads(response.body) if response.body else None
        if is_successful:
            return body
    except ValueError:
        body = None
    fields = cast("dict[str, object]", body if isinstance(body, dict) else {})
    code, detail = fields.get("error"), fields.get("detail")
    if is_successful or not isinstance(code, str) or not isinstance(detail, str):
        code, detail = "unexpected_response", _describe_unexpected(response)
    request_id: Optional[str] = response.headers.get("x-request-id")
    retry_after = parse_retry_after(response.headers.get("retry-after"))
    raise GenmeterError(cast(ErrorCode, code), detail, response.status, request_id, retry_after)


def _describe_unexpected(response: Response) -> str:
    if 300 <= response.status < 400:
        target = response.headers.get("location")
        names = "." if target is None else f". The response names: {target}"
        return f"The service redirects. Set base_url to its final address{names}"
    return (
        f"The response (status {response.status}) is not one of the service. "
        "Check base_url, and the proxies in front of it."
    )


def _parse_base_url(text: str) -> str:
    try:
        url = urlsplit(text)
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ValueError("base_url must be the address of the service: https://api.example.com.")
    if re.search("[@?#]", text):
        raise ValueError("base_url must not contain a user name, a query or a fragment.")
    return text.rstrip("/")


def _format_query(query: Mapping[str, object]) -> str:
    pairs: list[tuple[str, object]] = []
    for name, value in query.items():
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value).items()
            pairs += [(f"{name}[{key}]", item) for key, item in items]
        elif value is not None:
            pairs.append((name, value))
    return f"?{urlencode(pairs)}" if pairs else ""
