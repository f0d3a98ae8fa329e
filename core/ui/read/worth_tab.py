def show(context, run):
    pass
