"""Doubles as words: the bits that stand for one value."""

from __future__ import annotations

from cepheid.matcher.vm.jit import part

MINUS_ZERO = -(1 << 63)
ONE_NAN = 0x7FF8000000000000


@part
def is_nan(bits):
    return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000


@part
def one_zero(bits):
    """The bits of a double, the same for both zeros."""
    return 0 if bits == MINUS_ZERO else bits
