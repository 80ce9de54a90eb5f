"""The Java that a command starts is ended by the command alone."""

from __future__ import annotations

import subprocess

import pytest

from cepheid.cli import spark_options

# Spark starts Java with a function that runs before it, and so does this.
ENDED, ALIVE = (-15, b""), (0, b"alive\n")


def started() -> tuple[int, bytes]:
    command = ["/bin/sh", "-c", "kill -TERM $$; echo alive"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=lambda: None) as child:  # noqa: PLW1509
        told, _ = child.communicate()
    return child.returncode, told


def test_a_kill_of_all_processes_does_not_end_the_java_of_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Session:
        def stop(self) -> None:
            assert started() == ENDED

    seen = []

    def session(**_options: object) -> Session:
        seen.append(started())
        return Session()

    place = "cepheid.engines.spark.session.spark_session"
    monkeypatch.setattr(f"{place}.session", session)
    monkeypatch.setattr(f"{place}.running_session", lambda: None)
    with spark_options.spark_session():
        assert started() == ENDED
    assert seen == [ALIVE]
