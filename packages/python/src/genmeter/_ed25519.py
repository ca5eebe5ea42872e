"""Verification of Ed25519 signatures (RFC 8032), which the standard library lacks.

Everything that it reads is public, so its time may depend on the values.
"""

from __future__ import annotations

import hashlib
from typing import Optional, Tuple

#: Extended coordinates (X, Y, Z, T), with x = X / Z, y = Y / Z and x * y = T / Z.
Point = Tuple[int, int, int, int]

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_MINUS_ONE = pow(2, (_P - 1) // 4, _P)


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, commitment = _decode(public_key), _decode(signature[:32])
    response = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or response >= _L:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _L
    left = _multiply(_BASE, response)
    right = _add(commitment, _multiply(key, challenge))
    return all((left[i] * right[2] - right[i] * left[2]) % _P == 0 for i in (0, 1))


def _decode(data: bytes) -> Optional[Point]:
    value = int.from_bytes(data, "little")
    sign, y = value >> 255, value & (2**255 - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _SQRT_MINUS_ONE % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _add(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % _P, (p[1] + p[0]) * (q[1] + q[0]) % _P
    c, d = 2 * p[3] * q[3] * _D % _P, 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(point: Point, factor: int) -> Point:
    product: Point = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1 == 1:
            product = _add(product, point)
        point = _add(point, point)
        factor >>= 1
    return product


def _decode_base() -> Point:
    base = _decode((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
    assert base is not None
    return base


_BASE = _decode_base()
