"""What the commands of this folder run: each is a launcher that runs one of the packages here."""
