"""Verification of webhook messages."""

from __future__ import annotations

import base64
import hmac
import json
import time
import unittest
from email.message import Message
from typing import Any

from genmeter import WebhookVerificationError, verify_webhook
from genmeter._ed25519 import is_signed

SECRET = f"whsec_{base64.b64encode(b's' * 32).decode()}"
OTHER_SECRET = f"whsec_{base64.b64encode(b'o' * 32).decode()}"
BODY = json.dumps({"type": "webhook.test", "data": {"description": "灯台"}}, ensure_ascii=False)

#: Public key, message and signature of RFC 8032, section 7.1.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def sign(body: str = BODY, secret: str = SECRET, age: float = 0) -> dict[str, str]:
    timestamp = str(int(time.time() - age))
    key = base64.b64decode(secret.split("_")[1])
    digest = hmac.digest(key, f"msg_1.{timestamp}.{body}".encode(), "sha256")
    signature = base64.b64encode(digest).decode()
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1a,AAAA v1,!!! v1,{signature}",
    }


class VerifyWebhookTest(unittest.TestCase):
    def reject(self, pattern: str, body: Any, headers: dict[str, str], key: Any = SECRET) -> None:
        with self.assertRaisesRegex(WebhookVerificationError, pattern):
            verify_webhook(body, headers, key)

    def test_a_signed_message_is_returned_whatever_the_form_of_its_headers(self) -> None:
        headers, message = sign(), Message()
        for name, value in headers.items():
            message[name.title()] = value
        upper = {name.upper(): value for name, value in headers.items()}
        for payload, one in ((BODY, headers), (BODY.encode(), message), (BODY, upper)):
            self.assertEqual(verify_webhook(payload, one, SECRET), json.loads(BODY))
        verify_webhook(BODY, headers, [OTHER_SECRET, SECRET])

    def test_a_message_that_is_not_signed_changed_or_old_is_rejected(self) -> None:
        headers = sign()
        self.reject("No signature", f"{BODY} ", headers)
        self.reject("No signature", BODY, headers, OTHER_SECRET)
        self.reject("No signature", BODY, {**headers, "webhook-id": "msg_2"})
        self.reject("No signature", BODY, {**headers, "webhook-signature": "v1,ä v2,a"})
        self.reject("too old", BODY, sign(age=301))
        self.reject("too old", BODY, sign(age=-302))
        verify_webhook(BODY, sign(age=3_000), SECRET, tolerance_seconds=4_000)
        self.reject("not a time", BODY, {**headers, "webhook-timestamp": "١٢٣"})
        for name in headers:
            self.reject(f"{name} is missing", BODY, {**headers, name: ""})
        self.reject("not JSON", "no JSON", sign("no JSON"))

    def test_a_key_with_a_mistake_is_an_error_of_the_program(self) -> None:
        keys: list[Any] = ["", "secret", "whsec_", "whsec_AAAA", "whsec_ä", SECRET[6:], []]
        for key in keys:
            with self.assertRaises(ValueError):
                verify_webhook(BODY, sign(), key)


class Ed25519Test(unittest.TestCase):
    def test_the_vectors_of_the_standard_are_verified(self) -> None:
        for key, message, signature in VECTORS:
            data = [bytes.fromhex(text) for text in (key, message, signature)]
            self.assertTrue(is_signed(*data))
            for index in range(3):
                changed = list(data)
                changed[index] = (
                    data[index][:-1] + bytes([data[index][-1] ^ 1]) if data[index] else b"a"
                )
                self.assertFalse(is_signed(*changed))

    def test_a_signature_whose_number_is_not_reduced_is_rejected(self) -> None:
        key, message, signature = (bytes.fromhex(text) for text in VECTORS[1])
        order = 2**252 + 27742317777372353535851937790883648493
        number = int.from_bytes(signature[32:], "little") + order
        self.assertFalse(is_signed(key, message, signature[:32] + number.to_bytes(32, "little")))

    def test_data_of_another_length_is_rejected(self) -> None:
        key, message, signature = (bytes.fromhex(text) for text in VECTORS[1])
        self.assertFalse(is_signed(key[:-1], message, signature))
        self.assertFalse(is_signed(key, message, signature + b"a"))
        self.assertFalse(is_signed(b"\xff" * 32, message, signature))
