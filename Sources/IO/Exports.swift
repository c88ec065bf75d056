// Who writes a server names the host, its loop and descriptors, too. One import brings them all.

@_exported public import Holdfast

@_exported public import struct SystemPackage.FilePath
