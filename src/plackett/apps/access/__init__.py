"""HTTP servers: checks and limits of requests, errors, ports and connections."""
