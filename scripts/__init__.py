"""The commands of this folder: each is a launcher that runs one of the packages here."""
