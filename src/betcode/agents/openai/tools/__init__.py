"""The tools offered to the model. Each call is planned first, so that what is approved is what runs."""
