"""Reports: a program, what it found in events, and why, on one page for people who have nothing installed."""

from cepheid.reports.content import Limits as Limits
from cepheid.reports.content import report as report
