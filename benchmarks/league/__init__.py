"""The league: many systems, the same problems, one table."""
