"""Files on disk: results, baselines, and the machine they were measured on."""
