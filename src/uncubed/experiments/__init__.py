"""The paper's experiments: configurations, one runner, and a report."""
