"""How functions are compiled, and where the result is kept.

Entry points are compiled for one signature and kept on disk; everything they call is compiled into
them. What is kept belongs to the sources of the whole package: Numba itself would look only at the
file of the entry point, and run old code after a change in another file.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import config, njit, types
from numba.core import caching
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.extending import intrinsic

# Divisions are checked by the code itself; nothing is allocated, so nothing is counted.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
_IS_COMPILED = not getattr(config, "DISABLE_JIT", False)

# For signatures: words that compiled code may write, and columns that it only reads.
WORDS = types.int64[::1]
COLUMN = types.Array(types.int64, 1, "C", readonly=True)
COLUMNS = types.Array(types.int64, 2, "C", readonly=True)
TRUTHS = types.Array(types.boolean, 1, "C", readonly=True)


def part(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    return _part(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, compiled anew wherever it is called: with what is known there it may be faster."""
    return _part(function, forceinline=True)


def _part(function: Callable[..., Any], **options: bool) -> Any:
    if not _IS_COMPILED:
        return function
    compiled: Any = njit(**{**_OPTIONS, "no_cpython_wrapper": True, **options})(function)
    typed = compiled.get_call_template
    # Numba would compile it again for every constant that it is called with.
    compiled.get_call_template = lambda args, kws: typed(tuple(map(_plain, args)), kws)
    return compiled


def _plain(argument: Any) -> Any:
    return types.int64 if isinstance(argument, types.IntEnumMember) else types.unliteral(argument)


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


@intrinsic
def _unaligned(context: Any, words: Any, place: Any) -> Any:
    """The word that begins at a byte, which the processor reads wherever it lies."""
    del context, place

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = map(context.get_value_type, (types.uint8, signature.return_type))
        begin = builder.gep(builder.bitcast(arguments[0], byte.as_pointer()), [arguments[1]])
        return builder.load(builder.bitcast(begin, word.as_pointer()), align=1)

    return words.dtype(words, types.int64), generate


def unaligned(function: Callable[..., Any]) -> Any:
    """For a function that puts a word together from two, where compiled code need not."""
    return _unaligned if _IS_COMPILED else function


def entry(signature: object) -> Callable[[Callable[..., Any]], Any]:
    """Compiles a function that Python calls, or takes it from the disk; a signature is Numba's."""

    def compile(function: Callable[..., Any]) -> Any:
        if not _IS_COMPILED:
            return function
        # Other threads go on meanwhile: one of them may have to end the process (`cli/interrupt.py`).
        compiled: Any = njit(**_OPTIONS, nogil=True)(function)
        compiled._cache = _kept(function)
        with _linked_into(function.__qualname__):
            compiled.compile(signature)
        compiled.disable_compile()
        return compiled

    return compile


@contextmanager
def _linked_into(name: str) -> Iterator[None]:
    """Code is optimised once, where all of it has come together: in the entry point of this name.

    Numba would link and optimise each function with everything that it calls, and generate machine
    code for it, although only entry points are ever called from outside.
    """
    codegen: Any = cpu_target.target_context.codegen()
    usual = codegen._library_class
    codegen._library_class = _Library
    _Library.entry = name
    try:
        yield
    finally:
        codegen._library_class = usual


class _Library(JITCodeLibrary):
    """The code of one function; the entry point links all others."""

    entry = ""

    @property
    def codegen(self) -> Any:
        return self._codegen if self.name == self.entry else _NOTHING_LOADED

    def finalize(self) -> None:
        if self.name == self.entry:
            self._linking_libraries = list(self._all_called({}))
            super().finalize()
        else:
            self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        """Left to the optimisation of the whole."""

    def _all_called(self, found: dict[Any, None]) -> dict[Any, None]:
        for library in self._linking_libraries:
            if library not in found:
                found[library] = None
                if isinstance(library, _Library):
                    library._all_called(found)
        return found


class _NothingLoaded:
    """For code that is not called from outside, and so has no environment to set."""

    def set_env(self, name: str, environment: object) -> None:
        pass


_NOTHING_LOADED = _NothingLoaded()


@cache
def _sources() -> str:
    """A digest of everything that compiled code may come from."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
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

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = super().load_overload(signature, context)
        if found is None:
            _say_once("the matcher is being compiled: this takes half a minute, once")
        return found


@cache
def _say_once(text: str) -> None:
    logging.getLogger("cepheid.matcher").info(text)


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
