//! Limits of the sanitizers: how much a launch did that was not analysed, because a limit was reached.

/// A limit that the sanitizers reached in a launch. Errors beyond it are not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotLookedAt {
    /// Accesses to memory that the shadow memory of `race` had no room for.
    Accesses {
        /// How many.
        count: u64,
        /// The shadow memory that there was, in bytes.
        bytes: u64,
    },
    /// CTAs that `race` has no numbers for.
    Ctas {
        /// How many.
        count: u64,
    },
    /// Strong writes whose locations are too many for `race`: a thread that reads there counts as not synchronised with them.
    Locations {
        /// How many writes.
        count: u64,
    },
    /// There were too many messages between threads: from then on, all accesses count as ordered by `race`.
    Messages,
    /// Findings at places beyond the first thousand were not kept.
    Findings {
        /// How many.
        count: u64,
    },
}

impl NotLookedAt {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            NotLookedAt::Accesses { .. } => "accesses",
            NotLookedAt::Ctas { .. } => "ctas",
            NotLookedAt::Locations { .. } => "locations",
            NotLookedAt::Messages => "messages",
            NotLookedAt::Findings { .. } => "findings",
        }
    }

    /// How many there were, if they were counted.
    pub fn count(self) -> Option<u64> {
        match self {
            NotLookedAt::Accesses { count, .. }
            | NotLookedAt::Ctas { count }
            | NotLookedAt::Locations { count }
            | NotLookedAt::Findings { count } => Some(count),
            NotLookedAt::Messages => None,
        }
    }
}

impl std::fmt::Display for NotLookedAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotLookedAt::Accesses { count, bytes } => {
                let mebibytes = bytes.div_ceil(1 << 20);
                write!(
                    f,
                    "race: {count} accesses were not looked at: shadow memory is full at {mebibytes} MiB"
                )
            }
            NotLookedAt::Ctas { count } => {
                write!(f, "race: {count} CTAs were not looked at: the launch has more than can be told apart")
            }
            NotLookedAt::Locations { count } => write!(
                f,
                "race: {count} strong writes were not followed: they are at more locations than can be kept"
            ),
            NotLookedAt::Messages => {
                write!(
                    f,
                    "race: threads synchronised too often to be followed: nothing was looked at from then on"
                )
            }
            NotLookedAt::Findings { count } => {
                write!(f, "{count} more findings at other places were not kept")
            }
        }
    }
}
