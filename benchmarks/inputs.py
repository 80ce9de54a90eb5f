"""The inputs: events from fixed seeds, made in memory or kept as files in `benchmarks/data`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

DATA = Path(__file__).parent / "data"
PIECE = 2_000_000  # events that are made, and lie in a file, at once
ADVANCING = ("ForwardStartFound", "ForwardStartLost", "ForwardEndFound", "ForwardEndLost")
RETURNING = ("BackwardStartFound", "BackwardEndFound")


@dataclass(frozen=True, slots=True)
class Rides:
    """Motorbikes that each report their speed once a `period` (ms); some `stops` share of it is 0."""

    events: int = PIECE
    bikes: int = 1_000
    period: int = 1_000
    stops: float = 0.01

    def tables(self) -> Iterator[pa.Table]:
        """Pieces, each in the order of time; a piece overlaps the next one by about a period."""
        rounds = max(self.events // self.bikes, 1)
        most = max(PIECE // self.bikes, 1)
        for piece, first in enumerate(range(0, rounds, most)):
            yield self._piece(piece, first, min(most, rounds - first))

    def _piece(self, piece: int, first: int, rounds: int) -> pa.Table:
        rng = np.random.default_rng(1)
        phase = rng.integers(0, self.period, self.bikes)
        if piece:
            rng = np.random.default_rng([1, piece])
        count = rounds * self.bikes
        number, bike = np.divmod(np.arange(count), self.bikes)
        jitter = rng.integers(-50, 51, count)
        stands = rng.random(count) < self.stops
        speed = np.where(stands, 0, rng.integers(30, 130, count))
        columns = {
            "ts": 1_000 + (first + number) * self.period + phase[bike] + jitter,
            "motorbikeId": bike.astype(np.int32),
            "speed": speed.astype(np.int32),
        }
        return _ordered(columns, "motorbikeId", first_id=first * self.bikes)

    def parquet(self, per_file: int = PIECE) -> Path:
        """A folder of Parquet files, oldest first, which streams read in this order."""
        name = f"{self._name}-{per_file}"
        return kept(f"{name}.parquet", lambda folder: self._write_parquet(folder, per_file))

    def _write_parquet(self, folder: Path, per_file: int) -> None:
        folder.mkdir()
        files = (t.slice(n, per_file) for t in self.tables() for n in range(0, len(t), per_file))
        for number, table in enumerate(files):
            file = folder / f"{number:05}.parquet"
            pyarrow.parquet.write_table(table, file, compression="zstd")
            os.utime(file, (number, number))

    def csv(self) -> Path:
        """One CSV file without a header, in the order of time throughout."""
        return kept(f"{self._name}.csv", lambda file: _write_csv(self._in_order(), file))

    def csv_of_bikes(self) -> Path:
        """The same with a header, under the name of its type."""
        return kept(f"{self._name}-bikes", self._write_named) / "Motorbike.csv"

    def _write_named(self, folder: Path) -> None:
        folder.mkdir()
        pyarrow.csv.write_csv(self._in_order(), folder / "Motorbike.csv")

    def csv_pieces(self, per_file: int) -> Path:
        """The same as a folder of files, oldest first."""
        return kept(f"{self._name}-{per_file}.csv", lambda f: self._write_pieces(f, per_file))

    def _write_pieces(self, folder: Path, per_file: int) -> None:
        folder.mkdir()
        table = self._in_order()
        for number, begin in enumerate(range(0, len(table), per_file)):
            file = folder / f"{number:05}.csv"
            _write_csv(table.slice(begin, per_file), file)
            os.utime(file, (number, number))

    def files(self) -> Path:
        """A folder with one CSV and one Parquet file that Cepheid reads as they are."""
        return kept(f"{self._name}-files", self._write_files)

    def _write_files(self, folder: Path) -> None:
        folder.mkdir()
        table = self._in_order()
        seconds = pyarrow.compute.divide(table["ts"].cast(pa.float64()), pa.scalar(1_000.0))
        pyarrow.csv.write_csv(table.append_column("@time", seconds), folder / "Motorbike.csv")
        moments = table["ts"].cast(pa.timestamp("ms"))
        file = folder / "Motorbike.parquet"
        pyarrow.parquet.write_table(table.append_column("@time", moments), file)

    def _in_order(self) -> pa.Table:
        return pa.concat_tables(self.tables()).sort_by([("ts", "ascending"), ("id", "ascending")])

    @property
    def _name(self) -> str:
        return f"rides-{self.events}-{self.bikes}-{self.period}-{self.stops:g}"


def _write_csv(table: pa.Table, file: Path) -> None:
    pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(include_header=False))


def motorbike() -> pa.Table:
    """The first two million readings of a thousand bikes."""
    return next(Rides().tables())


def forward() -> pa.Table:
    """24 bodies pass four places in turn, again and again, with two other events on each way."""
    rng = np.random.default_rng(2)
    bodies, slots = 24, len(ADVANCING) + len(RETURNING)
    cycles = 2_000_000 // (bodies * slots)
    ways = bodies * cycles
    places = np.array(list(combinations(range(slots), len(RETURNING))))
    others = places[rng.integers(0, len(places), ways)]
    kinds = np.full((ways, slots), -1)
    np.put_along_axis(kinds, others, [len(ADVANCING), len(ADVANCING) + 1], axis=1)
    kinds[kinds < 0] = np.tile(np.arange(len(ADVANCING)), ways)
    cycle = np.tile(np.arange(cycles), bodies)[:, None]
    times = 1_000 + cycle * 1_200 + np.arange(slots) * 200 + rng.integers(0, 150, (ways, slots))
    columns = {
        "ts": times.ravel(),
        "type": np.array([*ADVANCING, *RETURNING])[kinds.ravel()],
        "b": np.repeat(np.arange(bodies, dtype=np.int32), cycles * slots),
    }
    return _ordered(columns, "b")


def patient() -> pa.Table:
    """A contraction of one of 50 patients every 20 ms or so."""
    rng = np.random.default_rng(3)
    count = 2_000_000
    columns = {
        "ts": 1_000 + np.arange(count) * 20 + rng.integers(0, 20, count),
        "patientId": rng.integers(0, 50, count).astype(np.int32),
        "contrDuration": rng.integers(0, 60, count).astype(np.int32),
    }
    return _ordered(columns, "patientId")


def ab() -> pa.Table:
    """An A or a B of one of a thousand keys every millisecond."""
    rng = np.random.default_rng(4)
    count = 2_000_000
    columns = {
        "ts": 1_000 + np.arange(count),
        "type": np.where(rng.random(count) < 0.5, "A", "B"),
        "k": rng.integers(0, 1_000, count).astype(np.int32),
        "v": np.round(rng.random(count) * 100, 2),
    }
    return _ordered(columns, "k")


def _ordered(columns: dict[str, Any], tie: str, first_id: int = 0) -> pa.Table:
    """By time, then by a column; `id` is the place in this order."""
    order = np.lexsort((columns[tie], columns["ts"]))
    ids = np.arange(first_id, first_id + len(order))
    return pa.table({"id": ids} | {name: values[order] for name, values in columns.items()})


def kept(name: str, write: Callable[[Path], None]) -> Path:
    """What was written once; an interrupted attempt leaves nothing under its name."""
    path = DATA / name
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        unfinished = DATA / f"unfinished-{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished)
        unfinished.rename(path)
    return path
