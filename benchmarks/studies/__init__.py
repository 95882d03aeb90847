"""Single measurements, one file each."""
