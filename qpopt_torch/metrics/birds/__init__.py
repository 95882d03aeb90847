"""What features of drawn birds stand for, where every part is known."""
