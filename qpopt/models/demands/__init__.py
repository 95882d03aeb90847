"""The parts of formulations that the demands of an instance switch on."""
