"""Runs that stop anywhere, and what they show there."""
