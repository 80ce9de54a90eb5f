"""Events that change their mind: histories of versions, rounds, and what was known when."""
