"""Changes of a model as lines: what they do, and what is said of those that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cepheid as cep
from cepheid import live
from cepheid.core.time import MICROSECONDS
from cepheid.errors import InputError
from cepheid.io.jsonl import line_records
from cepheid.io.read import fail
from cepheid.live import Happened, Model
from cepheid.live.change_files import ChangeReader
from tests.live.plants import PLANT

PROGRAM = """
import-queries q
queryEvent made(host: Host) as Host(host) found
atomicEvent restarted(host: Host, by: string)
complexEvent quick(host: Host) { as (made(host) -> restarted(host, _))[within 5 seconds] }
"""
CREATE = (
    '{"@time": 1, "changes": [{"create": "Plant", "as": "p", "values": {"id": "p"}},'
    ' {"create": "Host", "as": "h", "in": "p.hosts", "values": {"id": "web", "tags": ["a", "b"]}},'
    ' {"create": "Application", "as": "x", "in": "p.applications", "values": {"host": "h"}}]}'
)


def reader() -> ChangeReader:
    return ChangeReader(live.open(cep.parse(PROGRAM, "vepl"), Model(PLANT)))


def feed(to: ChangeReader, *lines: str) -> None:
    for record in line_records(lines, "changes.jsonl", fail):
        to.feed(record)


def test_objects_are_made_named_and_changed() -> None:
    found = reader()
    feed(found, CREATE)
    [host] = found.run.model.objects("Host")
    assert (host["id"], host["tags"], host["runs"]) == ("web", ("a", "b"), (found.names["x"],))
    changes = [
        {"set": "h", "feature": "load", "value": 0.5},
        {"set": host.name, "feature": "availableCpu", "value": 3},
        {"add": {"type": "Host", "id": "web"}, "feature": "tags", "value": "c"},
        {"remove": f"#{host.id}", "feature": "tags", "value": "a"},
        {"set": "x", "feature": "host", "value": None},
        {"create": "Host", "as": "k"},
        {"move": "k", "to": "h", "feature": "parts"},
    ]
    feed(found, json.dumps({"@time": 2, "changes": changes}))
    assert (host["load"], host["availableCpu"], host["tags"]) == (0.5, 3, ("b", "c"))
    assert (host["runs"], host["parts"]) == ((), (found.names["k"],))
    feed(found, '{"@time": 3, "changes": [{"delete": "h"}]}')
    assert not list(found.run.model.objects("Host"))
    assert found.transactions == 3


def test_changes_are_replayed_from_files_and_dictionaries(tmp_path: Path) -> None:
    found = reader()
    (tmp_path / "c.jsonl").write_text(CREATE)
    change = {"set": {"type": "Host", "id": "web"}, "feature": "load", "value": 1.5}
    live.replay(found.run, tmp_path / "c.jsonl", [{"@time": 2, "changes": [change]}])
    [host] = found.run.model.objects("Host")
    assert host["load"] == 1.5


def test_events_and_times_stand_between_transactions() -> None:
    found = reader()
    feed(found, CREATE, '{"@time": 2, "@type": "restarted", "host": "h", "by": "me"}')
    told = [e.event.type for e in found.run.entries if isinstance(e, Happened)]
    assert told == ["restarted", "quick"]
    feed(found, '{"@time": 9}')
    assert found.run.clock == 9 * MICROSECONDS["seconds"]


@pytest.mark.parametrize(
    ("line", "code", "fact"),
    [
        ('{"@time": 2, "changes": [{"set": "h", ', "bad-line", "not JSON"),
        ("[1]", "bad-line", "an event is an object"),
        (
            '{"@time": 2, "changes": {}}',
            "bad-line",
            "'changes' is a list of changes, not an object",
        ),
        ('{"@time": 2, "changes": [3]}', "bad-line", "a change is an object, not 3"),
        ('{"@time": 2, "changes": [{}]}', "bad-line", "and this is nothing"),
        ('{"@time": 2, "changes": [{"st": "h"}]}', "bad-line", "and this is 'st'"),
        ('{"@time": 2, "changes": [{"set": "h", "delete": "h"}]}', "bad-line", "delete and set"),
        (
            '{"@time": 2, "changes": [{"delete": "h", "feature": "x"}]}',
            "bad-line",
            "has no 'feature'",
        ),
        ('{"@time": 2, "changes": [{"set": "h", "feature": "id"}]}', "bad-line", "needs 'value'"),
        ('{"@time": 2, "changes": [{"delete": 3}]}', "bad-line", "an object is given by its name"),
        ('{"@time": 2, "changes": [{"delete": "H"}]}', "unknown-object", "object 'H' is not known"),
        ('{"@time": 2, "changes": [{"delete": "Host#99"}]}', "unknown-object", "'Host#99'"),
        ('{"@time": 2, "changes": [{"delete": "Plant#2"}]}', "unknown-object", "'Plant#2'"),
        (
            '{"@time": 2, "changes": [{"delete": "h"}, {"delete": "h"}]}',
            "unknown-object",
            "is deleted",
        ),
        (
            '{"@time": 2, "changes": [{"delete": {"type": "Host", "id": "x"}}]}',
            "unknown-object",
            "no objects",
        ),
        ('{"@time": 2, "changes": [{"create": "Hst"}]}', "unknown-class", "no class 'Hst'"),
        (
            '{"@time": 2, "changes": [{"create": "Host", "as": "h"}]}',
            "bad-line",
            "is the name of Host#2",
        ),
        (
            '{"@time": 2, "changes": [{"create": "Host", "values": [1]}]}',
            "bad-line",
            "'values' is an object",
        ),
        (
            '{"@time": 2, "changes": [{"set": "h", "feature": "lod", "value": 1}]}',
            "unknown-feature",
            "'lod'",
        ),
        (
            '{"@time": 2, "changes": [{"set": "h", "feature": "load", "value": "x"}]}',
            "bad-value",
            "'load'",
        ),
        ('{"@time": 2, "changes": [], "change": 3}', "bad-line", "a transaction has no 'change'"),
        ('{"@time": 2, "chnges": []}', "bad-line", "a line without '@type' has no 'chnges'"),
        ('{"@time": 0, "changes": []}', "late-event", "is before the clock"),
        ('{"@time": "soon", "changes": []}', "bad-time", "soon"),
        ('{"@time": 2, "@type": "restartd"}', "unknown-type", "no event type 'restartd'"),
        ('{"@time": 2, "@type": "restarted", "host": "H"}', "unknown-object", "object 'H'"),
        ('{"@time": 2, "@type": "restarted", "by": 3}', "bad-value", "attribute 'by'"),
    ],
)
def test_a_line_that_is_wrong_has_a_place_and_leaves_the_model_as_it_was(
    line: str, code: str, fact: str
) -> None:
    found = reader()
    feed(found, CREATE)
    before = [(one.name, dict(one.values)) for one in found.run.model.objects()]
    names = dict(found.names)
    with pytest.raises(InputError) as refused:
        feed(found, "", line)
    [problem] = refused.value.diagnostics
    assert problem.code == code
    assert fact in problem.message
    assert problem.span is not None
    assert (problem.span.file, problem.span.line) == ("changes.jsonl", 2)
    assert [(one.name, dict(one.values)) for one in found.run.model.objects()] == before
    assert found.names == names


def test_names_of_a_transaction_that_failed_are_free_again() -> None:
    found = reader()
    with pytest.raises(InputError):
        feed(found, '{"@time": 1, "changes": [{"create": "Host", "as": "h"}, {"delete": "x"}]}')
    feed(found, '{"@time": 1, "changes": [{"create": "Host", "as": "h"}]}')
    assert found.names["h"].is_alive
