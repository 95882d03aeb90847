"""Studies that use networks: their commands, and how long a person waits in the studio."""
