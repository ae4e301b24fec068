"""Planning of goal-oriented dialogues: game, players, tree search."""
