"""The public verbs: text becomes a program, a program is checked, run, or opened for events.

`pipeline` shows the way of a program in one short file, and is the place to start reading.
"""

from cepheid.verbs.absence import explain_absence as explain_absence
from cepheid.verbs.debugging import debug as debug
from cepheid.verbs.loading import load as load
from cepheid.verbs.loading import parse as parse
from cepheid.verbs.pipeline import CHECKS as CHECKS
from cepheid.verbs.program import Program as Program
from cepheid.verbs.running import LARGE as LARGE
from cepheid.verbs.running import engine_for as engine_for
from cepheid.verbs.running import open as open
from cepheid.verbs.running import run as run
from cepheid.verbs.running import steps_of as steps_of
from cepheid.verbs.searching import search as search
from cepheid.verbs.searching import search_any_order as search_any_order
from cepheid.verbs.simulating import simulate as simulate
from cepheid.verbs.simulating import verify as verify
