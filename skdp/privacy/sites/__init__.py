"""Sites that hold rows of their own: oracles at the site, messages with noise, masks."""
