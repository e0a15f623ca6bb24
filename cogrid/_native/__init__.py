"""The native backend: records what the step does to arrays, writes it as C, compiles and calls that."""
