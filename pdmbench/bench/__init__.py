"""From an experiment file to records: plan -> runner -> store."""
