"""How functions are compiled, and where the result is kept.

Entry points are compiled for one signature and kept on disk; everything they call is compiled into
them. What is kept belongs to the sources of the whole package: Numba itself would look only at the
file of the entry point, and run old code after a change in another file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config, njit, types
from numba.core import caching
from numba.extending import intrinsic

# Divisions are checked by the code itself; nothing is allocated, so nothing is counted.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
_IS_COMPILED = not getattr(config, "DISABLE_JIT", False)

part = njit(**{**_OPTIONS, "no_cpython_wrapper": True})  # only compiled code calls it


@intrinsic
def _pointer(context: Any, array: Any) -> Any:
    """Where the words of an array lie."""
    del context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        return made.data

    return types.CPointer(array.dtype)(array), generate


# Compiled code gets the address of the memory: an array would be passed on as seven values, and
# every index compared with zero. Where nothing is compiled, the array itself will do.
words_of = _pointer if _IS_COMPILED else lambda memory: memory


def entry(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compiles a function that Python calls, or takes it from the disk."""

    def compile(function: Callable[..., Any]) -> Any:
        if not _IS_COMPILED:
            return function
        compiled: Any = njit(**_OPTIONS)(function)
        compiled._cache = _kept(function)
        compiled.compile(signature)
        compiled.disable_compile()
        return compiled

    return compile


@cache
def _sources() -> str:
    """A digest of everything that compiled code may come from."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class _BySources:
    """A place on disk whose content is good for these very sources."""

    def get_source_stamp(self) -> str:
        return _sources()


class _BesideSources(_BySources, caching.InTreeCacheLocator):
    pass


class _InUserFolder(_BySources, caching.UserWideCacheLocator):
    pass


class _InGivenFolder(_BySources, caching.UserProvidedCacheLocator):
    pass


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [_InGivenFolder, _BesideSources, _InUserFolder]


class _Cache(caching.FunctionCache):
    _impl_class = _Implementation


def _kept(function: Callable[..., Any]) -> object:
    try:
        return _Cache(function)
    except RuntimeError:
        warnings.warn(
            "the compiled matcher cannot be kept: no folder for it can be written; "
            "every process compiles it again. NUMBA_CACHE_DIR names a folder",
            RuntimeWarning,
            stacklevel=2,
        )
        return caching.NullCache()
