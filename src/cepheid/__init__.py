"""Cepheid: complex event processing for PySpark."""
