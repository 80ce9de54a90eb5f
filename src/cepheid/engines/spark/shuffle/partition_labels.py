"""What Spark calls buckets: labels that it spreads evenly over its tasks.

Spark gives a bucket to the task that a hash of its label names. For the labels 0 to 31 and two tasks
that would be 12 and 20 of them. So the labels of 32 buckets in a row are chosen such that the last
five bits of their hashes are all different: then as many buckets go to each of 2, 4, ..., 32 tasks.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

_EVEN = 32  # buckets in a row that are spread evenly
_CHOICE = 1024  # labels for each of these rows: every hash is among theirs many times
_SEED = 42  # Spark's


@cache
def label(number: int) -> int:
    """The label of a bucket; packs of results, whose numbers are below zero, keep theirs."""
    if number < 0:
        return number
    row, place = divmod(number, _EVEN)
    begin = row * _CHOICE
    fits = _hashes(np.arange(begin, begin + _CHOICE, dtype=np.uint32)) % _EVEN == place
    return begin + int(np.flatnonzero(fits)[0])


@cache
def number_of(label: int) -> int:
    """The bucket that has a label."""
    if label < 0:
        return label
    place = int(_hashes(np.array([label], np.uint32))[0]) % _EVEN
    return label // _CHOICE * _EVEN + place


@cache
def labels_for(count: int, tasks: int) -> tuple[int, ...]:
    """Labels of so many buckets, which Spark gives to its tasks in turn."""
    found: dict[int, list[int]] = {task: [] for task in range(tasks)}
    begin = 0
    while any(len(labels) < -(-count // tasks) for labels in found.values()):
        choice = np.arange(begin, begin + _CHOICE, dtype=np.uint32)
        for label, task in zip(choice, np.mod(_hashes(choice).view(np.int32), tasks), strict=True):
            found[int(task)].append(int(label))
        begin += _CHOICE
    return tuple(found[number % tasks][number // tasks] for number in range(count))


def _hashes(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """What Spark's `hash` gives for integers: Murmur3, in 32 bits without a sign."""
    mixed = _rotated(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    hashes = _rotated(np.uint32(_SEED) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= np.uint32(4)  # bytes in an integer
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    return hashes ^ (hashes >> np.uint32(16))


def _rotated(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
