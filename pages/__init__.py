"""The site: what makes its pages, and what checks them. `mkdocs.yml` says how they hang together."""
