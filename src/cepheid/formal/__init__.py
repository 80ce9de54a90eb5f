"""Programs in other formalisms, where they can be simulated, searched and proved."""
