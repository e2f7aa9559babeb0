"""The services of the API, one module per service: convert the request, call the engine, convert the result."""
