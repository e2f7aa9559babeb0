"""Knowledge of particular programs: what they run, which files they use, which options change that."""
