"""What is found out about a program by running its meaning, before there are any events."""
