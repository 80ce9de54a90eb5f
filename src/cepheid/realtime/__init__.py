"""Operator graphs in real time: priorities, sharing, validity and shedding."""
