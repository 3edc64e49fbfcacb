//! Instruction descriptors of `tcgen05.mma` (PTX ISA sections 9.7.16.2.1 and 9.7.16.4.2).

use super::BadField;
use super::element::Element;
use super::layout::Layout;
use softwarp_num::Format;

/// `.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the words of the modifiers")]
pub enum Kind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

impl Kind {
    /// The modifier, without its dot.
    pub fn name(self) -> &'static str {
        match self {
            Kind::F16 => "kind::f16",
            Kind::Tf32 => "kind::tf32",
            Kind::F8f6f4 => "kind::f8f6f4",
            Kind::I8 => "kind::i8",
            Kind::Mxf8f6f4 => "kind::mxf8f6f4",
            Kind::Mxf4 => "kind::mxf4",
            Kind::Mxf4nvf4 => "kind::mxf4nvf4",
        }
    }

    /// Whether its factors are scaled by blocks.
    pub fn is_scaled(self) -> bool {
        matches!(self, Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4)
    }
}

/// How many factors share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleVector {
    /// `.scale_vec::1X`
    One,
    /// `.scale_vec::2X`
    Two,
    /// `.scale_vec::4X`
    Four,
    /// `.block16`
    Block16,
    /// `.block32`
    Block32,
}

/// What the modifiers of an instruction say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// `.kind`
    pub kind: Kind,
    /// `.cta_group`: 1 or 2.
    pub ctas: usize,
    /// `.ws`
    pub ws: bool,
    /// `.sp`
    pub sparse: bool,
    /// `.ashift`
    pub shifts_a: bool,
    /// `.scale_vec`, `.block16`, `.block32`
    pub scale: Option<ScaleVector>,
}

/// The scales of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// [`Format::Ue8m0`] or [`Format::Ue4m3`].
    pub format: Format,
    /// The byte of a cell that has the first scale, of A and of B.
    pub id: [usize; 2],
    /// How many scales a row of A has.
    pub count: usize,
}

/// What a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What elements of A and B are.
    pub factors: [Element; 2],
    /// What elements of D are: [`Format::F32`], [`Format::F16`] or [`Format::S32`].
    pub d: Format,
    /// `saturate`: sums of integers are limited, not wrapped.
    pub saturate: bool,
    /// Whether A and B are negated.
    pub negate: [bool; 2],
    /// Whether A and B are transposed: their `k` does not run fastest.
    pub transpose: [bool; 2],
    /// Rows of A and D, of both CTAs.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Steps of `k`; of a sparse A, half of them are stored.
    pub k: usize,
    /// Whether A is sparse.
    pub sparse: bool,
    /// The sparsity selector.
    pub selector: usize,
    /// The scales, if there are any.
    pub scale: Option<Scale>,
    /// Where D is.
    pub layout: Layout,
}

/// The instruction descriptor's bits.
struct Fields(u32);

impl Fields {
    fn get(&self, from: u32, count: u32) -> u32 {
        self.0 >> from & ((1 << count) - 1)
    }

    fn bit(&self, at: u32) -> bool {
        self.get(at, 1) == 1
    }

    /// A field that must be zero.
    fn reserved(&self, from: u32, count: u32, field: &'static str) -> Result<(), BadField> {
        match self.get(from, count) {
            0 => Ok(()),
            value => Err(BadField::new(field, format!("is {value:#x}, and must be 0"))),
        }
    }
}

impl Instruction {
    /// From an instruction descriptor.
    pub fn new(bits: u32, modifiers: &Modifiers) -> Result<Instruction, BadField> {
        let fields = Fields(bits);
        let sparse = fields.bit(2);
        if sparse != modifiers.sparse {
            let says = if sparse {
                "sparse, and the instruction has no .sp"
            } else {
                "dense, and the instruction has .sp"
            };
            let field = "the sparsity (bit 2) of the instruction descriptor";
            return Err(BadField::new(field, format!("says that A is {says}")));
        }
        let instruction = match modifiers.kind {
            kind if kind.is_scaled() => scaled(&fields, modifiers)?,
            _ => plain(&fields, modifiers)?,
        };
        instruction.check(modifiers)?;
        Ok(instruction)
    }

    /// How many elements of a row of A are stored.
    pub fn stored(&self) -> usize {
        if self.sparse { self.k / 2 } else { self.k }
    }

    /// Bytes of a row of A, of B's columns: what products take.
    pub fn row_bytes(&self) -> [usize; 2] {
        [self.stored() * self.factors[0].bits() as usize / 8, self.k * self.factors[1].bits() as usize / 8]
    }

    /// Rules about several fields.
    fn check(&self, modifiers: &Modifiers) -> Result<(), BadField> {
        let Instruction { n, .. } = *self;
        let (kind, ctas) = (modifiers.kind, modifiers.ctas);
        let step = match (kind, modifiers.ws) {
            (_, true) => 64,
            (Kind::I8, _) if ctas == 2 => 32,
            (Kind::I8, _) if n > 32 => 16,
            _ => 8 * ctas,
        };
        let exists = match modifiers.ws {
            true => matches!(n, 64 | 128) || n == 256 && !self.sparse,
            false => (step..=256).contains(&n) && n.is_multiple_of(step),
        };
        if !exists {
            let field = "N (bits 17 to 22) of the instruction descriptor";
            return Err(BadField::new(field, format!("is {n}, which {} does not have", shape_of(modifiers))));
        }
        if self.transpose[1] && self.factors[1].bits() == 8 && !n.is_multiple_of(16 * ctas) {
            let field = "N (bits 17 to 22) of the instruction descriptor";
            return Err(BadField::new(
                field,
                format!("is {n}: with a transposed B of 8 bits it is a multiple of {}", 16 * ctas),
            ));
        }
        for (index, field) in [
            "the transposition of A (bit 15) of the instruction descriptor",
            "the transposition of B (bit 16) of the instruction descriptor",
        ]
        .into_iter()
        .enumerate()
        {
            if self.transpose[index]
                && (self.factors[index].is_small() || self.factors[index] == Element::Packed)
            {
                return Err(BadField::new(field, "is set, which elements of less than 8 bits do not allow"));
            }
        }
        if modifiers.shifts_a && self.m < 128 {
            let field = "M (bits 24 to 28) of the instruction descriptor";
            return Err(BadField::new(field, format!("is {}: .ashift needs 128 or 256", self.m)));
        }
        Ok(())
    }
}

/// The instruction in words, for messages about shapes.
fn shape_of(modifiers: &Modifiers) -> String {
    let Modifiers { kind, ctas, ws, sparse, .. } = *modifiers;
    let [ws, sparse] = [(ws, ".ws"), (sparse, ".sp")].map(|(is, name)| if is { name } else { "" });
    format!("tcgen05.mma{ws}{sparse}.cta_group::{ctas}.{}", kind.name())
}

/// The layout of D, or what is wrong with M.
fn layout(m: usize, field: &'static str, modifiers: &Modifiers) -> Result<Layout, BadField> {
    let Modifiers { kind, ctas, ws, sparse, .. } = *modifiers;
    // Scaled products have no fewer rows, and sparse ones of two CTAs only the most.
    let exists = !kind.is_scaled() || m >= 128 && !(sparse && ctas == 2 && m == 128);
    Layout::of(m, ctas, ws, sparse)
        .filter(|_| exists)
        .ok_or_else(|| BadField::new(field, format!("is {m}, which {} does not have", shape_of(modifiers))))
}

/// Table 42: kinds without scales.
fn plain(fields: &Fields, modifiers: &Modifiers) -> Result<Instruction, BadField> {
    let kind = modifiers.kind;
    fields.reserved(6, 1, "bit 6 of the instruction descriptor")?;
    fields.reserved(23, 1, "bit 23 of the instruction descriptor")?;
    fields.reserved(29, 1, "bit 29 of the instruction descriptor")?;
    if !modifiers.ws {
        fields.reserved(
            30,
            2,
            "the maximum shift (bits 30 and 31) of the instruction descriptor without .ws",
        )?;
    }
    if !modifiers.sparse {
        fields.reserved(
            0,
            2,
            "the sparsity selector (bits 0 and 1) of the instruction descriptor without .sp",
        )?;
    }
    if kind != Kind::I8 {
        fields.reserved(
            3,
            1,
            "the saturation (bit 3) of the instruction descriptor of floating-point numbers",
        )?;
    } else {
        fields.reserved(13, 1, "the negation of A (bit 13) of the instruction descriptor of integers")?;
        fields.reserved(14, 1, "the negation of B (bit 14) of the instruction descriptor of integers")?;
    }
    let selector = fields.get(0, 2) as usize;
    if matches!(kind, Kind::I8 | Kind::F8f6f4) && selector != 0 {
        let field = "the sparsity selector (bits 0 and 1) of the instruction descriptor";
        return Err(BadField::new(field, format!("is {selector}, and must be 0 with .{}", kind.name())));
    }
    let d = match (kind, fields.get(4, 2)) {
        (Kind::F16 | Kind::F8f6f4, 0) => Format::F16,
        (Kind::F16 | Kind::F8f6f4 | Kind::Tf32, 1) => Format::F32,
        (Kind::I8, 2) => Format::S32,
        (_, value) => {
            let field = "the type of D (bits 4 and 5) of the instruction descriptor";
            return Err(BadField::new(field, format!("is {value}, which .{} does not have", kind.name())));
        }
    };
    let factors = [
        factor(kind, fields.get(7, 3), "the type of A (bits 7 to 9) of the instruction descriptor")?,
        factor(kind, fields.get(10, 3), "the type of B (bits 10 to 12) of the instruction descriptor")?,
    ];
    if kind == Kind::F16 && d == Format::F16 && factors.contains(&Element::Float(Format::Bf16)) {
        let field = "the type of D (bits 4 and 5) of the instruction descriptor";
        return Err(BadField::new(field, "is f16, which factors of bf16 do not allow"));
    }
    let m = fields.get(24, 5) as usize * 16;
    let dense = match kind {
        Kind::F16 => 16,
        Kind::Tf32 => 8,
        _ => 32,
    };
    Ok(Instruction {
        factors,
        d,
        saturate: fields.bit(3),
        negate: [fields.bit(13), fields.bit(14)],
        transpose: [fields.bit(15), fields.bit(16)],
        m,
        n: fields.get(17, 6) as usize * 8,
        k: if modifiers.sparse { dense * 2 } else { dense },
        sparse: modifiers.sparse,
        selector,
        scale: None,
        layout: layout(m, "M (bits 24 to 28) of the instruction descriptor", modifiers)?,
    })
}

/// A type of A or B.
fn factor(kind: Kind, code: u32, field: &'static str) -> Result<Element, BadField> {
    Ok(match (kind, code) {
        (Kind::F16, 0) => Element::Float(Format::F16),
        (Kind::F16, 1) => Element::Float(Format::Bf16),
        (Kind::Tf32, 2) => Element::Float(Format::Tf32),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 0) => Element::Float(Format::E4m3),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 1) => Element::Float(Format::E5m2),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 3) => Element::Float(Format::E2m3),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 4) => Element::Float(Format::E3m2),
        (Kind::F8f6f4 | Kind::Mxf8f6f4, 5) => Element::Float(Format::E2m1),
        (Kind::I8, 0) => Element::Integer { signed: false },
        (Kind::I8, 1) => Element::Integer { signed: true },
        (Kind::Mxf4 | Kind::Mxf4nvf4, 1) => Element::Packed,
        _ => return Err(BadField::new(field, format!("is {code}, which .{} does not have", kind.name()))),
    })
}

/// Tables 43 and 44: kinds with scales.
fn scaled(fields: &Fields, modifiers: &Modifiers) -> Result<Instruction, BadField> {
    let kind = modifiers.kind;
    fields.reserved(0, 2, "bits 0 and 1 of the instruction descriptor")?;
    fields.reserved(3, 1, "bit 3 of the instruction descriptor")?;
    fields.reserved(6, 1, "bit 6 of the instruction descriptor")?;
    fields.reserved(24, 3, "bits 24 to 26 of the instruction descriptor")?;
    let packed = kind != Kind::Mxf8f6f4;
    if packed {
        fields.reserved(12, 1, "bit 12 of the instruction descriptor")?;
        fields.reserved(
            15,
            1,
            "the transposition of A (bit 15) of the instruction descriptor of 4-bit numbers",
        )?;
        fields.reserved(
            16,
            1,
            "the transposition of B (bit 16) of the instruction descriptor of 4-bit numbers",
        )?;
    } else {
        fields.reserved(31, 1, "bit 31 of the instruction descriptor")?;
    }
    let factors = [
        factor(kind, fields.get(7, 3), "the type of A (bits 7 to 9) of the instruction descriptor")?,
        factor(
            kind,
            fields.get(10, if packed { 2 } else { 3 }),
            "the type of B (bits 10 to 12) of the instruction descriptor",
        )?,
    ];
    let long = fields.bit(31);
    if long && (modifiers.sparse || modifiers.ctas != 2 && fields.get(27, 2) != 1) {
        let field = "the K dimension (bit 31) of the instruction descriptor";
        return Err(BadField::new(field, "is 96, which only a dense A has"));
    }
    let k = match (packed, long) {
        (false, _) => 32,
        (true, false) => 64,
        (true, true) => 96,
    };
    let m = fields.get(27, 2) as usize * 128;
    Ok(Instruction {
        factors,
        d: Format::F32,
        saturate: false,
        negate: [fields.bit(13), fields.bit(14)],
        transpose: [fields.bit(15), fields.bit(16)],
        m,
        n: fields.get(17, 6) as usize * 8,
        k: if modifiers.sparse { 2 * k } else { k },
        sparse: modifiers.sparse,
        selector: 0,
        scale: Some(scale(fields, modifiers, k)?),
        layout: layout(m, "M (bits 27 and 28) of the instruction descriptor", modifiers)?,
    })
}

/// The scales of a product with that many stored steps of `k`.
fn scale(fields: &Fields, modifiers: &Modifiers, stored: usize) -> Result<Scale, BadField> {
    let kind = modifiers.kind;
    let count = match (kind, modifiers.scale) {
        (Kind::Mxf8f6f4, _) => 1,
        (_, Some(ScaleVector::Four | ScaleVector::Block16)) => stored / 16,
        _ => stored / 32,
    };
    let format = if fields.bit(23) { Format::Ue8m0 } else { Format::Ue4m3 };
    let exists = match kind {
        Kind::Mxf4nvf4 => format == Format::Ue8m0 || stored / count == 16,
        _ => format == Format::Ue8m0,
    };
    if !exists {
        let field = "the type of the scales (bit 23) of the instruction descriptor";
        return Err(BadField::new(
            field,
            format!(
                "is ue4m3, which .{} with a scale for {} numbers does not have",
                kind.name(),
                stored / count
            ),
        ));
    }
    let id = [fields.get(29, 2) as usize, fields.get(4, 2) as usize];
    for (id, field) in id.into_iter().zip([
        "the scale factor ID of A (bits 29 and 30) of the instruction descriptor",
        "the scale factor ID of B (bits 4 and 5) of the instruction descriptor",
    ]) {
        let exists = match count {
            1 | 3 => true,
            2 | 6 => id.is_multiple_of(2),
            _ => id == 0,
        };
        if !exists {
            return Err(BadField::new(
                field,
                format!("is {id}, which rows with {count} scales do not allow"),
            ));
        }
    }
    Ok(Scale { format, id, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modifiers(kind: Kind) -> Modifiers {
        Modifiers { kind, ctas: 1, ws: false, sparse: false, shifts_a: false, scale: None }
    }

    const SHAPE: u32 = 16 << 17 | 8 << 24;

    #[test]
    fn a_descriptor_of_halves_is_taken_apart() {
        let bits = SHAPE | 1 << 4 | 1 << 7 | 1 << 10 | 1 << 13 | 1 << 16;
        let it = Instruction::new(bits, &modifiers(Kind::F16)).expect("it is right");
        assert_eq!((it.m, it.n, it.k, it.d), (128, 128, 16, Format::F32));
        assert_eq!(it.factors, [Element::Float(Format::Bf16); 2]);
        assert_eq!((it.negate, it.transpose), ([true, false], [false, true]));
        assert_eq!(it.layout, Layout::D);
    }

    #[test]
    fn wrong_fields_are_named() {
        let problem = |bits, modifiers: Modifiers| {
            Instruction::new(bits, &modifiers).expect_err("it is wrong").to_string()
        };
        let f16 = modifiers(Kind::F16);
        assert_eq!(
            problem(SHAPE | 2 << 4, f16),
            "the type of D (bits 4 and 5) of the instruction descriptor is 2, which .kind::f16 does not have"
        );
        assert!(problem(SHAPE | 1 << 2, f16).contains("says that A is sparse"));
        assert!(problem(SHAPE | 1 << 6, f16).starts_with("bit 6 of"));
        assert!(problem(16 << 17 | 7 << 24, f16).starts_with("M (bits 24 to 28)"));
        assert!(problem(8 << 24, f16).starts_with("N (bits 17 to 22)"));
        let two = Modifiers { ctas: 2, ..f16 };
        assert!(problem(1 << 17 | 16 << 24 | 1 << 4, two).contains("is 8, which"));
        let ws = Modifiers { ws: true, ..f16 };
        assert!(problem(4 << 17 | 8 << 24 | 1 << 4, ws).contains("tcgen05.mma.ws.cta_group::1"));
        let mx = modifiers(Kind::Mxf8f6f4);
        assert!(problem(SHAPE, mx).contains("is ue4m3"));
        assert!(problem(16 << 17 | 4 << 24 | 1 << 23, mx).starts_with("bits 24 to 26"));
    }

    #[test]
    fn scales_are_counted_by_the_kind() {
        let nv = Modifiers { scale: Some(ScaleVector::Four), ..modifiers(Kind::Mxf4nvf4) };
        let it = Instruction::new(SHAPE | 1 << 7 | 1 << 10, &nv).expect("it is right");
        assert_eq!(it.scale, Some(Scale { format: Format::Ue4m3, id: [0; 2], count: 4 }));
        assert_eq!(it.row_bytes(), [32, 32]);
        let two = Modifiers { scale: Some(ScaleVector::Two), ..nv };
        let bits = SHAPE | 1 << 7 | 1 << 10 | 1 << 23 | 2 << 29;
        let it = Instruction::new(bits, &two).expect("it is right");
        assert_eq!(it.scale, Some(Scale { format: Format::Ue8m0, id: [2, 0], count: 2 }));
        assert!(Instruction::new(bits | 1 << 4, &two).is_err());
    }
}
