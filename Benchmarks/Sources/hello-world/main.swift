// The least that the start of a Swift program takes.
print("Hello, world!")
