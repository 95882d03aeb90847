"""The studio: a local page in which a person steers a model and sees it solved again."""
