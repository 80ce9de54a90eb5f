"""The functions that inscriptions call, over values that do not change."""
