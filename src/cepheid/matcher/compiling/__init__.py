"""From a resolved program to a program of the virtual machine: tables, bytecode, and their listings."""
