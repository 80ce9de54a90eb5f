"""`cepheid lsp`: programs in editors."""

from __future__ import annotations

from importlib.util import find_spec

from cepheid.errors import UsageError, error


def lsp() -> None:
    """Serve an editor: findings, fixes, completion, names.

    Speaks the Language Server Protocol on standard input and output; an
    editor starts it. docs/editors.md says how, for VS Code, Neovim and
    Jupyter.
    """
    if find_spec("pygls") is None:
        hint = "`pip install 'cepheid[lsp]'`"
        raise UsageError(error("usage", "the library for language servers is missing", hint=hint))
    from cepheid.lsp.server import make_server

    make_server().start_io()
