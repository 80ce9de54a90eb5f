"""`simulate`: a program over many runs by chance, counted; `simulated-run`: the events of a single one of them."""

from __future__ import annotations

from cepheid.studio.evidence import keep_simulation, playable, simulation_of, toml_of
from cepheid.studio.programs import program_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.verbs.simulating import simulate as simulate_program


def simulate(room: Room, given: Given) -> object:
    from cepheid.studio.counts import counts_json

    found = simulate_program(
        program_of(room, given),
        toml_of(given, "scenario", "bad-scenario"),
        runs=given.whole("runs"),
        until=given.text_if_any("until"),
        seed=given.whole("seed"),
        progress=room.progress,
    )
    return {
        "simulation": keep_simulation(room, found),
        "runs": found.runs,
        "seed": found.seed,
        "confidence": found.confidence,
        "types": list(counts_json(found)),
    }


def simulated_run(room: Room, given: Given) -> object:
    """Its events as lines of a file."""
    trace = simulation_of(room, given).run(given.whole("number"))
    hint = "say that a run lasts less, or use `cepheid simulate --save-run`"
    return {"lines": playable(trace.lines(), hint)}


SIMULATE_VERBS = (
    Verb("simulate", simulate, "evidence"),
    Verb("simulated-run", simulated_run, "evidence"),
)
