"""The command in this process; and no test where the client is not installed, which `cepheid[test]` brings."""

from importlib.util import find_spec

from tests.cli.conftest import cepheid, only_what_the_command_says

__all__ = ["cepheid", "collect_ignore", "only_what_the_command_says"]

collect_ignore = [] if find_spec("pytest_lsp") else ["test_server.py"]
