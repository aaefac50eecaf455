"""The namespaces that refarray.namespace() and __array_namespace__() return."""
