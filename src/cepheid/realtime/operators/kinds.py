"""All kinds of operators."""

from __future__ import annotations

from cepheid.realtime.operators.arrays import AVERAGE, CAT, FFT, JOIN, RESAMPLE, THRESHOLD
from cepheid.realtime.operators.cipher import AES
from cepheid.realtime.operators.functions import NUMBA, PYTHON
from cepheid.realtime.operators.kalman import EKF
from cepheid.realtime.operators.kind import Kind
from cepheid.realtime.operators.statements import STATEMENTS

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        *(EKF, FFT, CAT, JOIN, AES, AVERAGE, RESAMPLE, THRESHOLD, PYTHON, NUMBA),
        STATEMENTS,
    )
}
