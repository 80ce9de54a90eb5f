"""AES in counter mode. The nonce of an event is its number, so that equal runs give equal bytes.

With one key and one salt no number may come twice: a graph that is started anew needs another salt.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.realtime.operators.kind import (
    Array,
    Inputs,
    Kind,
    KindError,
    Made,
    Parameter,
    Parameters,
    State,
    Work,
    need_numbers,
    parts,
    text,
)
from cepheid.realtime.payload import Payload
from cepheid.realtime.secrets import secret

_SALT = 8  # bytes; as many are left for the number and the counter of blocks


def _bytes(digits: str, *sizes: int) -> bytes:
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        raise ValueError("is written in hexadecimal digits") from None
    if len(found) not in sizes:
        wanted = " or ".join(map(str, sizes))
        raise ValueError(f"has {wanted} bytes, not {len(found)}")
    return found


def _key(value: object) -> bytes:
    """Its digits, or the variable that has them."""
    written = text(value)
    digits = secret(written)
    try:
        return _bytes(digits, 16, 24, 32)
    except ValueError as wrong:
        named = f"names the variable {written[1:]}, which " if written != digits else ""
        raise ValueError(f"{named}{wrong}") from None


def _salt(value: object) -> bytes:
    return _bytes(text(value), _SALT)


def _make(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np

    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
    except ImportError:
        raise KindError(
            "AES needs the package cryptography", "pip install 'cepheid[realtime]'"
        ) from None

    need_numbers(inputs)
    (given,) = inputs
    algorithm = algorithms.AES(parameters["key"])
    salt = parameters["salt"]

    def cipher(inputs: Inputs) -> CipherContext:
        nonce = salt + inputs[0].number.to_bytes(5, "big") + bytes(3)
        return Cipher(algorithm, modes.CTR(nonce)).encryptor()

    def plain(inputs: Inputs) -> Array:
        return np.ascontiguousarray(inputs[0].value).view(np.uint8)

    def step(state: State, inputs: Inputs) -> Made:
        return state, (np.frombuffer(cipher(inputs).update(plain(inputs)), np.uint8),)

    def in_steps(state: State, inputs: Inputs, steps: int) -> Iterator[Made | None]:
        context, data, done = cipher(inputs), plain(inputs), []
        *firsts, last = parts(len(data), steps)
        for part in firsts:
            done.append(context.update(data[part]))
            yield None
        done.append(context.update(data[last]))
        yield state, (np.frombuffer(b"".join(done), np.uint8),)

    made = Payload("uint8", given.size * np.dtype(given.dtype).itemsize)
    return made, Work(step, in_steps=in_steps, releases_gil=True)


AES = Kind(
    "aes",
    "the bytes of an event, encrypted in counter mode; its number is the nonce",
    _make,
    {
        "key": Parameter(_key, is_needed=True),
        "salt": Parameter(_salt, bytes(_SALT)),
    },
)
