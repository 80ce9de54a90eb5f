"""What engines share: how they are asked and answer, the intake of events, the clock, runners and sessions."""
