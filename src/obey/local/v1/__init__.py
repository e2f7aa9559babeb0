"""Generated from proto/obey/local/v1; nothing here is edited by hand."""
