//! Video instructions: PTX ISA section 9.7.18. The modifiers are described, the operands are not.

use super::gates::*;
use crate::instruction::{Section, row};

#[rustfmt::skip]
pub(super) const SECTION: Section = Section {
    sets: &[
        ("word", "u32 s32"),
    ],
    rows: &[
        // Scalar. Sources may name a byte or half of a register, so they are not described.
        row(SM_20_20, "vadd.word.word.word{.sat} ?d, ?a, ?b"),
        row(SM_20_20, "vadd.word.word.word{.sat}.add|min|max ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vadd.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vsub.word.word.word{.sat} ?d, ?a, ?b"),
        row(SM_20_20, "vsub.word.word.word{.sat}.add|min|max ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vsub.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vabsdiff.word.word.word{.sat} ?d, ?a, ?b"),
        row(SM_20_20, "vabsdiff.word.word.word{.sat}.add|min|max ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vabsdiff.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmin.word.word.word{.sat} ?d, ?a, ?b"),
        row(SM_20_20, "vmin.word.word.word{.sat}.add|min|max ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmin.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmax.word.word.word{.sat} ?d, ?a, ?b"),
        row(SM_20_20, "vmax.word.word.word{.sat}.add|min|max ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmax.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vshl.word.word.u32{.sat}.clamp|wrap ?d, ?a, ?b"),
        row(SM_20_20, "vshl.word.word.u32{.sat}.clamp|wrap{.add|min|max} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vshr.word.word.u32{.sat}.clamp|wrap ?d, ?a, ?b"),
        row(SM_20_20, "vshr.word.word.u32{.sat}.clamp|wrap{.add|min|max} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmad.word.word.word{.sat}{.shr7|shr15} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vmad.word.word.word.po{.sat}{.shr7|shr15} ?d, ?a, ?b, ?c"),
        row(SM_20_20, "vset.word.word.eq|ne|lt|le|gt|ge ?d, ?a, ?b"),
        row(SM_20_20, "vset.word.word.eq|ne|lt|le|gt|ge{.add|min|max} ?d, ?a, ?b, ?c"),
        // SIMD.
        row(SM_30_30, "vadd2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vadd2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vsub2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vsub2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vavrg2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vavrg2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vabsdiff2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vabsdiff2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmin2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmin2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmax2.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmax2.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vset2.word.word.eq|ne|lt|le|gt|ge{.add} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vadd4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vadd4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vsub4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vsub4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vavrg4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vavrg4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vabsdiff4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vabsdiff4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmin4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmin4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmax4.word.word.word{.sat} ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vmax4.word.word.word.add ?d, ?a, ?b, ?c"),
        row(SM_30_30, "vset4.word.word.eq|ne|lt|le|gt|ge{.add} ?d, ?a, ?b, ?c"),
    ],
};
