"""Static checks of loadables: what a target cannot run, or would compute wrong."""
