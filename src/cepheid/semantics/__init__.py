"""The reference semantics: what a program means, in small steps over explicit state."""
