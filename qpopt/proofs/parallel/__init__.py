"""Branch and bound in several processes of one machine."""
