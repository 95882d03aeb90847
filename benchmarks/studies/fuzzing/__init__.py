"""Small random instances, their optimum by trying everything, and what of an answer is wrong."""
