"""The event algebra: what its forms mean, which matches contexts choose."""
