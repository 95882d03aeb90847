"""A proof on the workers of a dask.distributed cluster."""
