"""The workbench over HTTP: application, routes, pages, request checks and server."""
