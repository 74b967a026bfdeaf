"""Methods judged on a user's own model, where no truth is known."""
