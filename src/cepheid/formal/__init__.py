"""Programs in other formalisms, and what is found out about them before there are any events."""
