"""The former name of the engine: importing it raises an error that names the public modules."""

raise ImportError("cogrid.core is private now: import what authors of worlds need from cogrid.author.")
