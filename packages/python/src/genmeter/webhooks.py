"""Verification of webhook messages."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Optional, Union

from ._ed25519 import is_signed
from .types import WebhookEvent

_SECRET_PREFIX = "whsec_"
_PUBLIC_KEY_PREFIX = "whpk_"
_KEY_BYTES_MIN = 16
#: Signatures that are verified at most. The service sends two, or four after a rotation.
_SIGNATURES_MAX = 16


class WebhookVerificationError(Exception):
    """The message was not sent by the service, was changed, or is too old. Respond with 400."""


def verify_webhook(
    payload: Union[bytes, str],
    headers: Union[Mapping[str, str], Message],
    key: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
) -> WebhookEvent:
    """Verifies a webhook message (Standard Webhooks 1.0.0) and returns its event.

    Ignore types that you do not know, which may be added, and ids (`webhook-id`) that you have
    processed.

    `payload`: the body of the request, unchanged: verify before a framework parses it.
    `key`: the secret (`whsec_...`, verifies `v1`), the public key (`whpk_...`, verifies `v1a`), or
    several of them.
    `tolerance_seconds`: accepted difference between `webhook-timestamp` and now.
    """
    keys = [_parse_key(one) for one in ([key] if isinstance(key, str) else key)]
    if not keys:
        raise ValueError("At least one secret or public key is needed.")
    values = {name.lower(): value for name, value in headers.items()}
    message_id = _read_header(values, "webhook-id")
    timestamp = _read_header(values, "webhook-timestamp")
    signatures = _read_header(values, "webhook-signature").split(" ")[:_SIGNATURES_MAX]
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookVerificationError("The header webhook-timestamp is not a time.")
    if abs(time.time() - int(timestamp)) > tolerance_seconds:
        raise WebhookVerificationError(
            "The message is too old, or the clock of this machine is wrong."
        )
    body = payload.encode() if isinstance(payload, str) else bytes(payload)
    content = f"{message_id}.{timestamp}.".encode() + body
    if not any(_is_signed_by(prefix, data, content, signatures) for prefix, data in keys):
        raise WebhookVerificationError("No signature of the message matches.")
    try:
        event: WebhookEvent = json.loads(body)
    except ValueError:
        raise WebhookVerificationError("The body is signed, but is not JSON.") from None
    return event


def _read_header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookVerificationError(f"The header {name} is missing.")
    return value


def _is_signed_by(prefix: str, key: bytes, content: bytes, signatures: Sequence[str]) -> bool:
    version = "v1a," if prefix == _PUBLIC_KEY_PREFIX else "v1,"
    for signature in signatures:
        sent = _decode(signature[len(version) :]) if signature.startswith(version) else None
        if sent is None:
            continue
        if prefix == _PUBLIC_KEY_PREFIX and is_signed(key, content, sent):
            return True
        if prefix == _SECRET_PREFIX and hmac.compare_digest(
            hmac.digest(key, content, "sha256"), sent
        ):
            return True
    return False


def _parse_key(key: str) -> tuple[str, bytes]:
    """Returns the prefix and the bytes of a key; a mistake in it is one of the program."""
    for prefix in (_SECRET_PREFIX, _PUBLIC_KEY_PREFIX):
        data = _decode(key[len(prefix) :]) if key.startswith(prefix) else None
        if data is not None and len(data) >= _KEY_BYTES_MIN:
            return prefix, data
    raise ValueError("A key must be the secret (whsec_...) or the public key (whpk_...).")


def _decode(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
