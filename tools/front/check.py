HELP="x"
