"""The verbs that a page can ask for, a file for each or for those of a kind; a new one joins the list below."""

from cepheid.studio.handlers.begin import BEGIN
from cepheid.studio.handlers.behind import BEHIND
from cepheid.studio.handlers.blocks import BLOCK_PALETTE, BLOCKS, DRAW_BLOCKS, FOLD, UNFOLD
from cepheid.studio.handlers.check import CHECK, QUICK_CHECK
from cepheid.studio.handlers.compare import COMPARE
from cepheid.studio.handlers.debug import DEBUG_VERBS
from cepheid.studio.handlers.debug_picture import DEBUG_PICTURE
from cepheid.studio.handlers.draw import DRAW
from cepheid.studio.handlers.export import EXPORT, REPORT
from cepheid.studio.handlers.files import FILES
from cepheid.studio.handlers.hello import HELLO
from cepheid.studio.handlers.job_actions import ACTION_VERBS
from cepheid.studio.handlers.jobs import JOB_VERBS
from cepheid.studio.handlers.keep import KEEP
from cepheid.studio.handlers.language import LANGUAGE_VERBS
from cepheid.studio.handlers.open_file import OPEN
from cepheid.studio.handlers.places import PLACE, PLACES
from cepheid.studio.handlers.rows import FIND, ROWS
from cepheid.studio.handlers.run import RUN
from cepheid.studio.handlers.save import SAVE
from cepheid.studio.handlers.search import SEARCH
from cepheid.studio.handlers.simulate import SIMULATE_VERBS
from cepheid.studio.handlers.take_events import TAKE_EVENTS
from cepheid.studio.handlers.types import DRAW_TYPE, TYPES
from cepheid.studio.handlers.verify import VERIFY
from cepheid.studio.handlers.versions import VERSIONS
from cepheid.studio.handlers.warm import WARM
from cepheid.studio.handlers.why_not import WHY_NOT

VERBS = {
    verb.name: verb
    for verb in (
        HELLO,
        FILES,
        BEGIN,
        OPEN,
        SAVE,
        VERSIONS,
        QUICK_CHECK,
        CHECK,
        DRAW,
        BLOCK_PALETTE,
        BLOCKS,
        DRAW_BLOCKS,
        UNFOLD,
        FOLD,
        TYPES,
        DRAW_TYPE,
        PLACES,
        PLACE,
        WARM,
        RUN,
        ROWS,
        FIND,
        TAKE_EVENTS,
        COMPARE,
        EXPORT,
        REPORT,
        BEHIND,
        KEEP,
        WHY_NOT,
        VERIFY,
        SEARCH,
        *SIMULATE_VERBS,
        *LANGUAGE_VERBS,
        *DEBUG_VERBS,
        *JOB_VERBS,
        *ACTION_VERBS,
        DEBUG_PICTURE,
    )
}
