"""The memory of the machine, one array of integers: its tables, how rows are taken and given back."""
