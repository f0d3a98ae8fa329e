"""What several pages share: links, widgets, the page shell, loaders."""
