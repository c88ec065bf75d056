// What a user of Holdfast names beside the host: the loop, the policies, and signals. One import brings them all.

@_exported public import CrashCapture
@_exported public import RunLoops
@_exported public import StallDetection
@_exported public import struct SystemPackage.FileDescriptor
