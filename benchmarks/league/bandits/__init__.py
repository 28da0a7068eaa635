"""The bandit side of the league: cumulative regret over many rounds on finite sets of arms."""
