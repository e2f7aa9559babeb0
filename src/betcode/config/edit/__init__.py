"""Change a settings file: validate, edit JSON with comments, replace the file atomically."""
