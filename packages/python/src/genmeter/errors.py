"""Errors of requests."""

from __future__ import annotations

from typing import Optional

from .types import ErrorCode


class GenmeterError(Exception):
    """A request failed. Match on `code`; `detail` is a sentence for people and may change.

    `code` is one of the service, or `network_error` (no response, or one that broke off),
    `timeout`, or `unexpected_response` (such as the error page of a proxy).
    """

    def __init__(
        self,
        code: ErrorCode,
        detail: str,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        # All arguments, so that the error can be pickled.
        super().__init__(code, detail, status, request_id, retry_after)
        self.code = code
        self.detail = detail
        #: HTTP status; None without a response.
        self.status = status
        #: `X-Request-Id` of the response, to quote to support.
        self.request_id = request_id
        #: Seconds that the service asked to wait before the next attempt.
        self.retry_after = retry_after

    def __str__(self) -> str:
        return self.detail
