//! The rows of each opcode, parsed when first asked for.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::{SECTIONS, SETS};
use crate::mnemonic::Opcode;
use crate::row::language::{self, Parsed, RowError};
use crate::row::{Section, TableRow};

/// The rows of an opcode, each with the sets of its section; read when first asked for.
struct Entry {
    rows: Vec<(&'static Section, &'static TableRow)>,
    parsed: OnceLock<Vec<Parsed>>,
}

static INDEX: LazyLock<HashMap<Opcode, Entry>> = LazyLock::new(|| {
    let mut index: HashMap<Opcode, Entry> = HashMap::new();
    for section in SECTIONS {
        for row in section.rows {
            let Some(opcode) = Opcode::from_name(language::opcode(row.line)) else { continue };
            let entry =
                index.entry(opcode).or_insert_with(|| Entry { rows: Vec::new(), parsed: OnceLock::new() });
            entry.rows.push((section, row));
        }
    }
    index
});

/// The rows of an opcode.
pub(crate) fn rows(opcode: Opcode) -> &'static [Parsed] {
    let Some(entry) = INDEX.get(&opcode) else { return &[] };
    entry.parsed.get_or_init(|| {
        let read = |(section, row): &(&'static Section, &'static TableRow)| parsed(section, row).ok();
        entry.rows.iter().filter_map(read).collect()
    })
}

fn parsed(section: &Section, row: &TableRow) -> Result<Parsed, RowError> {
    language::parse(row, &[section.sets, SETS])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`rows`] passes over rows that do not parse, so there must be none.
    #[test]
    fn every_row_of_the_table_parses() {
        let rows = || SECTIONS.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)));
        let errors: Vec<String> = rows()
            .filter_map(|(section, row)| parsed(section, row).err())
            .map(|error| error.to_string())
            .collect();
        assert!(rows().count() > 1_000, "the table has only {} rows", rows().count());
        assert!(errors.is_empty(), "{errors:#?}");
    }
}
