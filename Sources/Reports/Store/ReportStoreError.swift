public import SystemPackage

/// A store of reports, or a report in it, cannot be used.
public struct ReportStoreError: Error, Sendable, Hashable {
    /// What kind of error it is.
    public enum Code: Sendable {
        /// The environment does not say where the store is.
        case noLocation
        /// The environment is another user's to write, and nothing but it says where the store is.
        case untrustedLocation
        /// No report has the identifier.
        case noSuchReport
        /// More than one report has an identifier that starts so.
        case ambiguous
        /// The path is that of a symbolic link, which could lead anywhere.
        case symbolicLink
        /// The file belongs to another user, who may change it at any time.
        case foreignOwner
        /// The file is not of the kind it should be, such as a directory in the place of a report.
        case wrongKind
        /// The file is larger than any report.
        case tooLarge
        /// The file is no report.
        case damaged
        /// The report is of a version that this library does not read.
        case unsupportedVersion
        /// The system refused to read.
        case unreadable
        /// The system refused to write, or JSON cannot say the report.
        case unwritable
    }

    /// What kind of error it is.
    public let code: Code
    /// The file or directory, or the store for an identifier that it does not have.
    public let path: FilePath
    /// The error of the system, if it was one.
    package let underlyingError: Errno?

    /// What is special about this case, such as the identifiers that an ambiguous one could mean.
    let detail: String?

    init(_ code: Code, _ path: FilePath, _ underlyingError: Errno? = nil, detail: String? = nil) {
        self.code = code
        self.path = path
        self.underlyingError = underlyingError
        self.detail = detail
    }

    init(_ error: ReportFormatError, _ path: FilePath) {
        let code: Code =
            switch error.code {
            case .unsupportedVersion: .unsupportedVersion
            case .unrepresentable: .unwritable
            default: .damaged
            }
        self.init(code, path, detail: error.description)
    }
}

extension ReportStoreError: CustomStringConvertible {
    /// What is wrong with which file, and what to do.
    public var description: String {
        let cause = detail ?? underlyingError.map(String.init(describing:)) ?? "unknown cause"
        return switch code {
        case .noLocation:
            """
            no store: neither HOLDFAST_STORE, STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set: set HOLDFAST_STORE or HOME, or name a \
            directory
            """
        case .untrustedLocation:
            """
            no store: the program acts for another user or group than who started it, whose environment does not choose it: name a \
            directory in the program
            """
        case .noSuchReport: "no report in \(path) is called \(cause): list the reports to see their identifiers"
        case .ambiguous: "more than one report in \(path) \(cause): give more digits"
        case .symbolicLink:
            detail.map { "\(path) belongs to a unit with DynamicUser=: as root, read --store \($0)" }
                ?? "\(path) is a symbolic link: name the place it leads to"
        case .foreignOwner:
            "\(path) belongs to another user (\(cause)): read it as root, change it as that user, or make a copy of your own"
        case .wrongKind: "\(path) is not a \(cause): move it out of the way"
        case .tooLarge: "\(path) is larger than a report can be: move it out of the way"
        case .damaged: "\(path) is not a readable report (\(cause)): move it out of the way"
        case .unsupportedVersion: "\(path): \(cause)"
        case .unreadable: "cannot read \(path): \(cause)\(hint.map { ": \($0)" } ?? "")"
        case .unwritable: "cannot write \(path): \(cause)\(hint.map { ": \($0)" } ?? "")"
        }
    }

    /// What to do about an error of the system.
    var hint: String? {
        if underlyingError == .permissionDenied, path.starts(with: ReportStore.privateState) {
            return "it belongs to a unit with DynamicUser=, run crashreport as root"
        }
        return underlyingError?.hint
    }
}

extension Errno {
    /// What to do about it, where somebody who reads or writes a store meets it.
    var hint: String? {
        switch self {
        case .noSpace, .diskQuotaExceeded: "make room on the disk, or narrow the limits of the store"
        case .fileTooLarge: "raise the limit of the size of files (ulimit -f)"
        case .tooManyOpenFiles: "the process has too many files open: raise its limit (ulimit -n)"
        case .tooManyOpenFilesInSystem: "the system has too many files open"
        case .readOnlyFileSystem: "the file system is read-only: name another store"
        case .permissionDenied, .notPermitted: "see who may use it, or name another store"
        case .ioError: "the disk may be failing"
        default: nil
        }
    }
}
