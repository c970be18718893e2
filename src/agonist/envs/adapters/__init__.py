"""Other people's environments behind our interfaces. Each adapter imports its package when one of its environments is made."""
