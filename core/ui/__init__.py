"""The shell of the pages: navigation, sidebar, links, tables, the list of rows, loaders."""
