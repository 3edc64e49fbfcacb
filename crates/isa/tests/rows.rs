//! Every row of the instruction table parses, in release builds too: one that does not would be passed over in silence.

use softwarp_isa::instruction::unparsed_rows;

#[test]
fn every_row_of_the_table_parses() {
    let (rows, errors) = unparsed_rows();
    assert!(rows > 1_000, "the table has only {rows} rows");
    assert!(errors.is_empty(), "{errors:#?}");
}
