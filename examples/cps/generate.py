"""Writes `large.xmi`: forty hosts and sixty applications, in which each of ten rules is broken twice."""

from __future__ import annotations

from pathlib import Path

from cepheid import live

HERE = Path(__file__).parent
HOSTS, BUSY, APPLICATIONS = 40, 20, 60  # applications run on the first hosts only


def model() -> live.Model:
    made = live.Model(live.load_metamodel(HERE / "cps.ecore"))
    with made.transaction() as change:
        system = change.create("System", id="large")
        server = change.create("HostType", id="server")
        small = change.create("ApplicationType", id="small", needsCpu=1)
        huge = change.create("ApplicationType", id="huge", needsCpu=64)
        change.move(server, system, "hostTypes")
        for type in (small, huge):
            change.move(type, system, "applicationTypes")
        hosts = [_host(change, system, server, number) for number in range(HOSTS)]
        applications = [
            _application(change, system, small, hosts[number % BUSY], number)
            for number in range(APPLICATIONS)
        ]
        _break(change, hosts, applications, huge)
    return made


def _host(
    change: live.Transaction, system: live.Object, server: live.Object, number: int
) -> live.Object:
    sizes = {"totalCpu": 8, "totalRam": 32, "totalHdd": 500}
    free = {"availableCpu": 4, "availableRam": 16, "availableHdd": 200}
    host = change.create("HostInstance", id=f"10.0.1.{number}", type=server, **sizes, **free)
    change.move(host, system, "hosts")
    return host


def _application(
    change: live.Transaction,
    system: live.Object,
    type: live.Object,
    host: live.Object,
    number: int,
) -> live.Object:
    values = {"id": f"app{number}", "priority": number % 5, "type": type, "allocatedTo": host}
    application = change.create("ApplicationInstance", **values)
    change.move(application, system, "applications")
    return application


def _break(
    change: live.Transaction,
    hosts: list[live.Object],
    applications: list[live.Object],
    huge: live.Object,
) -> None:
    """Each rule twice, no two on one object."""
    for place in (0, 1):
        own = hosts[BUSY + place :: 2]
        change.set(own[0], "availableCpu", 10)
        change.set(own[1], "availableRam", 64)
        change.set(own[2], "availableHdd", 900)
        change.set(own[3], "availableCpu", -1)
        change.set(own[4], "type", None)
        change.add(own[5], "communicatesWith", own[5])
        apps = applications[place:20:2]
        change.set(apps[0], "type", None)
        change.set(apps[1], "allocatedTo", None)
        change.set(apps[2], "type", huge)
        change.set(apps[3], "priority", -3)


if __name__ == "__main__":
    live.save_model(model(), HERE / "large.xmi")
