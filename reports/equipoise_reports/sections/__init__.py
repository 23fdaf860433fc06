"""The sections of the page: each turns the study into the few sentences, tables and figures that it shows."""
