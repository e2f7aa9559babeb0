"""The words of the API, generated from proto/betcode/v1; nothing here is edited by hand."""
