"""BiCEPL, the language of classes of events that may change, files that end with `.bicepl`."""
