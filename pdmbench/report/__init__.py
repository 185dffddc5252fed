"""Records in, readable results out: nothing here runs a solver or loads a data set."""
