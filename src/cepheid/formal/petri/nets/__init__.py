"""Nets as data: places, transitions, inscriptions, markings, and what must hold in every one."""
