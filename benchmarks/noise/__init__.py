"""Learning and auditing under label noise: data sets, noise, competitors, records, tables."""
