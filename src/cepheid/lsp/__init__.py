"""The language server: a thin face over `editing`, for editors that speak the Language Server Protocol."""
