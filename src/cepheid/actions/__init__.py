"""Actions: what programs want done, kept on disk until it is done.

Runs make rows; rows with an action become `Action`s with a key; `enqueue` puts them into an outbox, a
folder on disk, once each; `drain` has an executor per class of actions do them, in order, at least once.
Only executors touch the world, and nothing here knows an engine.
"""

from cepheid.actions.action import Action as Action
from cepheid.actions.action import action_of_row as action_of_row
from cepheid.actions.action import actions_of_rows as actions_of_rows
from cepheid.actions.action import key_of as key_of
from cepheid.actions.action import reaction_key as reaction_key
from cepheid.actions.clock import Clock as Clock
from cepheid.actions.clock import SystemClock as SystemClock
from cepheid.actions.deliveries import deliveries as deliveries
from cepheid.actions.deliveries import read_deliveries as read_deliveries
from cepheid.actions.delivery import Delivery as Delivery
from cepheid.actions.delivery import DeliveryFailed as DeliveryFailed
from cepheid.actions.delivery import Executor as Executor
from cepheid.actions.delivery import Rate as Rate
from cepheid.actions.delivery import Retry as Retry
from cepheid.actions.drain import Drained as Drained
from cepheid.actions.drain import Drainer as Drainer
from cepheid.actions.drain import Outcome as Outcome
from cepheid.actions.drain import Tally as Tally
from cepheid.actions.drain import drain as drain
from cepheid.actions.drain import rehearse as rehearse
from cepheid.actions.outbox import Enqueued as Enqueued
from cepheid.actions.outbox import Outbox as Outbox
from cepheid.actions.outbox import enqueue as enqueue
from cepheid.actions.queue import dead_letters as dead_letters
from cepheid.actions.queue import revive as revive
from cepheid.actions.statements import RowActions as RowActions
from cepheid.actions.statements import actions_of as actions_of
from cepheid.actions.statements import caller as caller
