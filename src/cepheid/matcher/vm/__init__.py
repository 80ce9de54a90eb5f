"""The virtual machine: everything that is compiled. Its memory is one array of integers."""
