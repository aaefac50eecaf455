"""What several test files share: models, leak counts, spies, the requirement marks."""
