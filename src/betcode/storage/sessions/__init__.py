"""SQL of sessions and their events, runs, inputs, blobs and bindings."""
