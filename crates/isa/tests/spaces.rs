//! The state spaces of PTX ISA section 5.1 and the opaque types of section 5.3, as data.

use softwarp_isa::space::opaque::{
    ADDRESS_MODES, CHANNEL_DATA_TYPES, CHANNEL_ORDERS, FILTER_MODES, Standing,
};
use softwarp_isa::space::{Access, Addressing, Initialising, Member, Owner, Sharing, TextureMode};
use softwarp_isa::{Opaque, StateSpace};

#[test]
fn the_state_spaces_are_those_of_table_6() {
    let names: Vec<_> = StateSpace::ALL.iter().map(|space| space.to_string()).collect();
    assert_eq!(names, [".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared", ".tex"]);
    for space in StateSpace::ALL {
        assert_eq!(StateSpace::from_name(space.name()), Some(*space));
    }
    for name in ["", ".reg", "REG", "generic", "memory", "surf", "shared::cta"] {
        assert_eq!(StateSpace::from_name(name), None, "{name}");
    }
}

/// Table 7, in the words it uses: name, addressable, initializable, access, sharing.
const TABLE_7: &str = "
    reg     kernel    no          no   rw  thread
    reg     function  no          no   rw  thread
    sreg    kernel    no          no   ro  cta
    const   kernel    yes         yes  ro  grid
    global  kernel    yes         yes  rw  context
    local   kernel    yes         no   rw  thread
    param   kernel    yes         no   ro  grid
    param   function  restricted  no   rw  thread
    shared  function  yes         no   rw  cluster
    tex     kernel    no       driver  ro  context
";

#[test]
fn the_properties_of_state_spaces_are_those_of_table_7() {
    for line in TABLE_7.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        let space = StateSpace::from_name(words[0]).unwrap();
        let owner = if words[1] == "kernel" { Owner::Kernel } else { Owner::Function };
        let properties = space.properties(owner);
        let addressing = match properties.addressing {
            Addressing::Addressed => "yes",
            Addressing::Restricted => "restricted",
            Addressing::Unaddressed => "no",
        };
        let initialising = match properties.initialising {
            Initialising::InText => "yes",
            Initialising::ByDriver => "driver",
            Initialising::Never => "no",
        };
        let access = match properties.access {
            Access::ReadOnly => "ro",
            Access::ReadWrite => "rw",
        };
        let sharing = match properties.sharing {
            Sharing::PerThread => "thread",
            Sharing::PerCta => "cta",
            Sharing::PerCluster => "cluster",
            Sharing::PerGrid => "grid",
            Sharing::Context => "context",
        };
        assert_eq!([addressing, initialising, access, sharing], words[2..], "{space}");
    }
}

#[test]
fn the_opaque_types_are_three_and_samplers_are_for_the_independent_mode() {
    let names: Vec<_> = Opaque::ALL.iter().map(|opaque| opaque.to_string()).collect();
    assert_eq!(names, [".texref", ".samplerref", ".surfref"]);
    for opaque in Opaque::ALL {
        assert_eq!(Opaque::from_name(opaque.name()), Some(*opaque));
        assert!(opaque.exists_in(TextureMode::Independent));
        assert_eq!(opaque.exists_in(TextureMode::Unified), *opaque != Opaque::Samplerref);
    }
    assert_eq!(TextureMode::default(), TextureMode::Unified);
}

/// Tables 10 and 11: the member; its standing on a texture in the unified mode, then in the independent mode
/// on a texture, a sampler and a surface (`-`: not applicable); what it holds.
const TABLES_10_AND_11: &str = "
    width                      yes yes     -   yes  number
    height                     yes yes     -   yes  number
    depth                      yes yes     -   yes  number
    channel_data_type          yes yes     -   yes  number
    channel_order              yes yes     -   yes  number
    normalized_coords          yes yes     -   -    0,1
    force_unnormalized_coords  -   -       yes -    0,1
    filter_mode                yes ignored yes -    nearest,linear
    addr_mode_0                yes ignored yes -    wrap,mirror,clamp_ogl,clamp_to_edge,clamp_to_border
    addr_mode_1                yes ignored yes -    wrap,mirror,clamp_ogl,clamp_to_edge,clamp_to_border
    addr_mode_2                yes ignored yes -    wrap,mirror,clamp_ogl,clamp_to_edge,clamp_to_border
    array_size                 yes yes     -   yes  number
    num_mipmap_levels          yes yes     -   -    number
    num_samples                yes yes     -   -    number
    memory_layout              -   -       -   yes  0,1
";

#[test]
fn the_members_of_opaque_types_are_those_of_tables_10_and_11() {
    let rows: Vec<Vec<_>> =
        TABLES_10_AND_11.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(
        Member::all().map(Member::name).collect::<Vec<_>>(),
        rows.iter().map(|row| row[0]).collect::<Vec<_>>()
    );
    for row in rows {
        let member = Member::from_name(row[0]).unwrap();
        let on = |opaque, mode| match member.on(opaque, mode) {
            Standing::Counts => "yes",
            Standing::Ignored => "ignored",
            Standing::Absent => "-",
        };
        assert_eq!(on(Opaque::Texref, TextureMode::Unified), row[1], "{member:?}");
        assert_eq!(on(Opaque::Texref, TextureMode::Independent), row[2], "{member:?}");
        assert_eq!(on(Opaque::Samplerref, TextureMode::Independent), row[3], "{member:?}");
        assert_eq!(on(Opaque::Samplerref, TextureMode::Unified), "-", "{member:?}");
        for mode in [TextureMode::Unified, TextureMode::Independent] {
            assert_eq!(on(Opaque::Surfref, mode), row[4], "{member:?}");
        }
        let values = member.values();
        let (words, numbers) = match row[5] {
            "number" => (vec![], [true, true, true]),
            "0,1" => (vec![], [true, true, false]),
            words => (words.split(',').collect(), [false, false, false]),
        };
        assert_eq!(values.words(), words, "{member:?}");
        assert_eq!([0, 1, 2].map(|number| values.takes(number)), numbers, "{member:?}");
    }
    assert_eq!(Member::from_name("addr_mode_3"), None);
    assert_eq!((FILTER_MODES.len(), ADDRESS_MODES.len()), (2, 5));
}

#[test]
fn the_channel_data_types_are_those_of_table_12() {
    let names = "SNORM_INT8 SNORM_INT16 UNORM_INT8 UNORM_INT16 UNORM_SHORT_565 UNORM_SHORT_555 UNORM_INT_101010 \
        SIGNED_INT8 SIGNED_INT16 SIGNED_INT32 UNSIGNED_INT8 UNSIGNED_INT16 UNSIGNED_INT32 HALF_FLOAT FLOAT";
    let wanted: Vec<_> = names.split_whitespace().zip(0x10D0..).collect();
    assert_eq!(without_prefix(CHANNEL_DATA_TYPES), wanted);
    assert_eq!(wanted.len(), 15);
}

#[test]
fn the_channel_orders_are_those_of_table_13() {
    let wanted: Vec<_> =
        "R A RG RA RGB RGBA BGRA ARGB INTENSITY LUMINANCE".split(' ').zip(0x10B0..).collect();
    assert_eq!(without_prefix(CHANNEL_ORDERS), wanted);
    assert_eq!(wanted.len(), 10);
}

fn without_prefix(table: &[(&'static str, u32)]) -> Vec<(&'static str, u32)> {
    table.iter().map(|(name, value)| (name.strip_prefix("CL_").unwrap(), *value)).collect()
}
