/// The names of system calls.
package enum SystemCallNames {
    /// The name of a system call, such as `futex`.
    ///
    /// - Parameters:
    ///   - number: Its number.
    ///   - architecture: The machine, as uname(2) names it: each has numbers of its own.
    /// - Returns: The name; nil for a number that is not known.
    package static func name(_ number: Int, architecture: String) -> String? {
        switch architecture {
        case "x86_64": x86[number]
        case "aarch64": aarch64[number]
        default: nil
        }
    }

    private static let x86 = parsed(x86Text)
    private static let aarch64 = parsed(aarch64Text)

    /// Each line begins with the number of its first name.
    private static func parsed(_ text: String) -> [Int: String] {
        var names: [Int: String] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let first = words.first.flatMap({ Int($0) }) else { continue }
            for (index, word) in words.dropFirst().enumerated() { names[first + index] = String(word) }
        }
        return names
    }

    /// asm/unistd_64.h of Linux 6.10.
    private static let x86Text = """
        0 read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn
        16 ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise shmget shmat shmctl
        32 dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg
        47 recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt clone fork vfork execve exit
        61 wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock fsync fdatasync truncate
        77 ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink readlink chmod fchmod chown
        93 fchown lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid
        107 geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid
        120 getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo
        130 rt_sigsuspend sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs getpriority setpriority
        142 sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min
        148 sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl
        159 adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname
        172 iopl ioperm create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg
        182 putpmsg afs_syscall tuxcall security gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
        194 listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity
        204 sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_submit io_cancel get_thread_area
        212 lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address
        219 restart_syscall semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete
        227 clock_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes vserver
        237 mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
        246 kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch
        256 migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat
        268 fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee sync_file_range vmsplice
        279 move_pages utimensat epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4
        289 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open
        299 recvmmsg fanotify_init fanotify_mark prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg
        308 setns getcpu process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 seccomp
        318 getrandom memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2
        329 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq
        424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount
        433 fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr
        443 quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease
        449 futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue
        457 statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
        """

    /// asm-generic/unistd.h of Linux 6.10.
    private static let aarch64Text = """
        0 io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
        11 listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1
        21 epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get
        32 flock mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl statfs fstatfs
        45 truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod fchmodat fchownat fchown openat close vhangup
        59 pipe2 quotactl getdents64 lseek read write readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll
        74 signalfd4 vmsplice splice tee readlinkat fstatat fstat sync fsync fdatasync sync_file_range2 timerfd_create
        86 timerfd_settime timerfd_gettime utimensat acct capget capset personality exit exit_group waitid set_tid_address
        97 unshare futex set_robust_list get_robust_list nanosleep getitimer setitimer kexec_load init_module delete_module
        107 timer_create timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime clock_getres
        115 clock_nanosleep syslog ptrace sched_setparam sched_setscheduler sched_getscheduler sched_getparam
        122 sched_setaffinity sched_getaffinity sched_yield sched_get_priority_max sched_get_priority_min
        127 sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend rt_sigaction rt_sigprocmask
        136 rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority getpriority reboot setregid setgid setreuid
        146 setuid setresuid getresuid setresgid getresgid setfsuid setfsgid times setpgid getpgid getsid setsid getgroups
        159 setgroups uname sethostname setdomainname getrlimit setrlimit getrusage umask prctl getcpu gettimeofday
        170 settimeofday adjtimex getpid getppid getuid geteuid getgid getegid gettid sysinfo mq_open mq_unlink mq_timedsend
        183 mq_timedreceive mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl
        196 shmat shmdt socket socketpair bind listen accept connect getsockname getpeername sendto recvfrom setsockopt
        209 getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve mmap
        223 fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore madvise remap_file_pages mbind
        236 get_mempolicy set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo perf_event_open accept4 recvmmsg
        260 wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at clock_adjtime syncfs setns
        269 sendmmsg process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 seccomp
        278 getrandom memfd_create bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect
        289 pkey_alloc pkey_free statx io_pgetevents rseq kexec_file_load
        403 clock_gettime64 clock_settime64 clock_adjtime64 clock_getres_time64 clock_nanosleep_time64 timer_gettime64
        409 timer_settime64 timerfd_gettime64 timerfd_settime64 utimensat_time64 pselect6_time64 ppoll_time64
        416 io_pgetevents_time64 recvmmsg_time64 mq_timedsend_time64 mq_timedreceive_time64 semtimedop_time64
        421 rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64 pidfd_send_signal io_uring_setup io_uring_enter
        427 io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2
        438 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
        445 landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv set_mempolicy_home_node
        451 cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr
        460 lsm_set_self_attr lsm_list_modules mseal
        """
}
