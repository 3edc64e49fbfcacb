//! Every rule as data: its code, what is wrong where it is broken and why, a map that breaks it and one that does not.
//!
//! The maps are JSON: `element`, `dims` and `box` (tiled) or `lower`, `upper`, `channels`, `pixels` (im2col; with
//! `wide`, along W), and where they differ from the defaults `target` (sm_90), `address` (0), `strides` (dense),
//! `element_strides` (1), `interleave` and `swizzle` (none), `promotion` (none), `fill` (zero). Or `object`: 128 bytes
//! in hexadecimal.

use softwarp_diagnostic::{Code, Diagnostic, Explained};

macro_rules! rules {
    ($($name:ident = $code:literal, $title:literal, $text:literal, $wrong:literal, $right:literal;)*) => {
        $(
            #[doc = $title]
            pub(crate) const $name: Explained = Explained {
                code: Code($code), title: $title, text: $text, wrong: $wrong, right: $right,
            };
        )*

        /// All of them, errors first, in the order of their codes.
        pub const ALL: &[Explained] = &[$($name,)*];
    };
}

rules! {
    TARGET = "E1001", "the target has no tensor maps",
        "Tensor maps and the instructions that take them exist on sm_90 and later.",
        r#"{"target": "sm_80", "element": "f16", "dims": [64, 64], "box": [64, 64]}"#,
        r#"{"target": "sm_90", "element": "f16", "dims": [64, 64], "box": [64, 64]}"#;
    UNLISTED = "E1002", "an option is none of its list",
        "Element type, interleave, swizzle, L2 promotion, fill and wide mode are chosen from lists, by name or by the driver's number. The driver refuses other numbers with CUDA_ERROR_INVALID_VALUE.",
        r#"{"element": "f24", "dims": [64, 64], "box": [64, 64]}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 64]}"#;
    RANK = "E1003", "a tensor has no dimension, or more than 5",
        "PTX ISA section 5.5.1. More dimensions must be folded: dimensions whose strides continue one another are one dimension.",
        r#"{"element": "f16", "dims": [64, 2, 2, 2, 2, 2], "box": [64, 1, 1, 1, 1, 1]}"#,
        r#"{"element": "f16", "dims": [64, 2, 2, 2, 4], "box": [64, 1, 1, 1, 1]}"#;
    RANK_INTERLEAVED = "E1004", "an interleaved tensor has fewer than 3 dimensions",
        "PTX ISA section 5.5.6. An interleaved tensor is NC/8HWC8 and the like: dimension 0 walks over slices of 16 or 32 bytes, and dimension rank - 2 chooses the slice of channels, so that there must be at least three.",
        r#"{"element": "u8", "dims": [64, 64], "strides": [1024], "box": [16, 1], "interleave": "16B"}"#,
        r#"{"element": "u8", "dims": [64, 64, 8], "strides": [1024, 65536], "box": [16, 1, 1], "interleave": "16B"}"#;
    RANK_IM2COL = "E1005", "an im2col tensor has fewer than 3 dimensions",
        "PTX ISA section 5.5.4: NWC, NHWC or NDHWC.",
        r#"{"element": "f16", "dims": [64, 64], "lower": [], "upper": [], "channels": 64, "pixels": 64}"#,
        r#"{"element": "f16", "dims": [64, 64, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 64}"#;
    LENGTHS = "E1006", "a list is not as long as the rank says",
        "The number of dimensions is the rank. There is one stride less (dimension 0 is dense), one traversal stride and one box size each, and two corners less for im2col (corners are given for W, H and D only, W first). The driver would read past the end of a shorter list.",
        r#"{"element": "f16", "dims": [64, 64, 8], "strides": [128, 8192], "box": [64, 8]}"#,
        r#"{"element": "f16", "dims": [64, 64, 8], "strides": [128, 8192], "box": [64, 8, 1]}"#;
    ADDRESS_ALIGNMENT = "E1010", "the address is not aligned",
        "Global memory is read in units of 16 bytes. 32-byte interleave and packed elements that are padded in shared memory need 32 (on sm_103, stores of six-bit elements need only 16).",
        r#"{"element": "f16", "address": 8, "dims": [64, 64], "box": [64, 64]}"#,
        r#"{"element": "f16", "address": 16, "dims": [64, 64], "box": [64, 64]}"#;
    ADDRESS_RANGE = "E1011", "the address is 2^57 or more",
        "Virtual addresses have 57 bits; the driver refuses others. No document says so.",
        r#"{"element": "f16", "address": 144115188075855872, "dims": [64, 64], "box": [64, 64]}"#,
        r#"{"element": "f16", "address": 72057594037927936, "dims": [64, 64], "box": [64, 64]}"#;
    DIMENSION = "E1012", "a dimension is 0 or more than 2^32",
        "The object holds each dimension less one in 32 bits.",
        r#"{"element": "f16", "dims": [64, 0], "box": [64, 64]}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 64]}"#;
    STRIDE_ALIGNMENT = "E1013", "a stride is not a multiple of 16",
        "The object holds strides in units of 16 bytes, so that rows begin where the hardware can read. Strides are in bytes, not elements. 32-byte interleave and packed elements that are padded in shared memory need multiples of 32 (on sm_103, stores of six-bit elements need only 16). Rows of another length must be padded.",
        r#"{"element": "f32", "dims": [250, 64], "strides": [1000], "box": [64, 64]}"#,
        r#"{"element": "f32", "dims": [252, 64], "strides": [1008], "box": [64, 64]}"#;
    STRIDE_RANGE = "E1014", "a stride is 2^40 or more",
        "The object has 36 bits for a stride in units of 16 bytes.",
        r#"{"element": "f32", "dims": [64, 64], "strides": [1099511627776], "box": [64, 64]}"#,
        r#"{"element": "f32", "dims": [64, 64], "strides": [1099511627760], "box": [64, 64]}"#;
    PACKED_EXTENT = "E1015", "dimension 0 of packed elements is not whole groups",
        "Packed elements are moved in groups: rows of b4x16 are whole bytes, rows of b4x16_p64 and b6x16_p32 a multiple of 128 elements (on sm_103, stores of b6p2x16 take multiples of 64).",
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [64, 64], "strides": [64], "box": [128, 8]}"#,
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [128, 64], "box": [128, 8]}"#;
    BOX = "E1020", "a box is 0 or more than 256 in a dimension",
        "The object holds each size less one in 8 bits. A larger box needs several copies.",
        r#"{"element": "u8", "dims": [64, 1024], "box": [64, 257]}"#,
        r#"{"element": "u8", "dims": [64, 1024], "box": [64, 256]}"#;
    INNER_BYTES = "E1021", "a row of the box is not a multiple of 16 bytes",
        "The box in dimension 0 (or the channels of a pixel) times the element's size must be a multiple of 16 bytes: shared memory is written in such units. The header asks this of maps without interleave only; the driver asks it of all.",
        r#"{"element": "f16", "dims": [64, 64], "box": [12, 8]}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [16, 8]}"#;
    SPAN = "E1022", "a row of the box is longer than the swizzle's span",
        "Without interleave, the box in dimension 0 (or the channels of a pixel) may take at most as many bytes as the swizzle is named after. A wider tile needs several copies, side by side.",
        r#"{"element": "f16", "dims": [128, 64], "box": [128, 64], "swizzle": "128B"}"#,
        r#"{"element": "f16", "dims": [128, 64], "box": [64, 64], "swizzle": "128B"}"#;
    ELEMENT_STRIDE = "E1023", "a traversal stride is 0 or more than 8",
        "The object holds each less one in 3 bits. The driver looks at dimension 0's too, though copies ignore it without interleave.",
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 9], "element_strides": [1, 9]}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 8], "element_strides": [1, 8]}"#;
    SHARED = "E1024", "a copy is larger than shared memory",
        "The driver multiplies the element's size with floor(box / traversal stride) of every dimension (im2col: with channels and pixels), and refuses more than a multiprocessor's shared memory, 233,472 bytes on sm_90. A block can use 1,024 bytes less. No document says so.",
        r#"{"element": "f32", "dims": [256, 256], "box": [256, 229]}"#,
        r#"{"element": "f32", "dims": [256, 256], "box": [256, 228]}"#;
    PACKED_INNER = "E1025", "a row of padded packed elements is not 128 elements",
        "b4x16_p64, b6x16_p32 and b6p2x16 are moved in rows of exactly 128 elements: the box in dimension 0, or the channels of a pixel (on sm_103, stores of b6p2x16 take 64, too).",
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [256, 64], "box": [64, 8]}"#,
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [256, 64], "box": [128, 8]}"#;
    CHANNELS = "E1030", "channels per pixel are 0 or more than 256",
        "The object holds them less one in 8 bits.",
        r#"{"element": "u8", "dims": [512, 8, 8, 2], "lower": [0, 0], "upper": [0, 0], "channels": 272, "pixels": 8}"#,
        r#"{"element": "u8", "dims": [512, 8, 8, 2], "lower": [0, 0], "upper": [0, 0], "channels": 256, "pixels": 8}"#;
    PIXELS = "E1031", "pixels per column are 0 or more than 1024",
        "PTX ISA section 5.5.4.1. The driver asks it also where im2col::w::128 ignores the number.",
        r#"{"element": "u8", "dims": [64, 8, 8, 2], "lower": [0, 0], "upper": [0, 0], "channels": 64, "pixels": 1025}"#,
        r#"{"element": "u8", "dims": [64, 8, 8, 2], "lower": [0, 0], "upper": [0, 0], "channels": 64, "pixels": 1024}"#;
    CORNER = "E1032", "a corner does not fit its bits",
        "Corners have 16 bits in three dimensions, 8 in four, 5 in five (PTX ISA section 5.5.4.1). The header promises 16 bits for im2col::w in any rank; the driver asks the same there as for im2col.",
        r#"{"element": "u8", "dims": [64, 8, 8, 8, 2], "lower": [-17, 0, 0], "upper": [0, 0, 0], "channels": 64, "pixels": 8}"#,
        r#"{"element": "u8", "dims": [64, 8, 8, 8, 2], "lower": [-16, 0, 0], "upper": [0, 0, 0], "channels": 64, "pixels": 8}"#;
    BOUNDING_BOX = "E1033", "the bounding box is empty",
        "Filter bases run from the lower corner up to, not including, the dimension plus the upper corner; the upper corner counts from the tensor's end. The driver reckons in signed 32 bits, so that spatial dimensions of 2^31 and more are refused, too. With interleave the spatial dimensions begin at 0, without at 1. In im2col::w, the corners of H and D are 0.",
        r#"{"element": "u8", "dims": [64, 3, 8, 2], "lower": [1, 0], "upper": [-2, 0], "channels": 64, "pixels": 8}"#,
        r#"{"element": "u8", "dims": [64, 3, 8, 2], "lower": [1, 0], "upper": [-1, 0], "channels": 64, "pixels": 8}"#;
    ELEMENT_TARGET = "E1040", "the target does not have the element type",
        "Packed elements (b4x16, b4x16_p64, b6x16_p32, b6p2x16) exist on sm_100 and later.",
        r#"{"element": "b4x16", "dims": [64, 64], "box": [64, 8]}"#,
        r#"{"target": "sm_100", "element": "b4x16", "dims": [64, 64], "box": [64, 8]}"#;
    SWIZZLE_TARGET = "E1041", "the target does not have the swizzle",
        "Atoms other than 16 bytes exist on sm_100 and later, the 96-byte swizzle on sm_103 only. The driver has no number for the latter: it is set with tensormap.replace.",
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B_ATOM_32B"}"#,
        r#"{"target": "sm_100", "element": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B_ATOM_32B"}"#;
    WIDE_TARGET = "E1042", "the target does not have im2col::w::128",
        "im2col::w exists on sm_100 and later, im2col::w::128 on sm_100, sm_103 and sm_110.",
        r#"{"target": "sm_120", "element": "f16", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w128", "swizzle": "128B"}"#,
        r#"{"target": "sm_100", "element": "f16", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w128", "swizzle": "128B"}"#;
    PACKED_INTERLEAVE = "E1043", "six-bit elements are interleaved",
        "The driver's header allows no interleave with 16U6_ALIGN16B.",
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [128, 64, 8], "strides": [4096, 262144], "box": [128, 1, 1], "interleave": "16B"}"#,
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [128, 64, 8], "box": [128, 1, 1]}"#;
    PACKED_SWIZZLE = "E1044", "padded packed elements cannot have the swizzle",
        "b4x16_p64 can be swizzled with 128B and 128B_ATOM_32B, b6x16_p32 with 128B_ATOM_64B, too (stores only), and on sm_103 with 64B (stores only).",
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [128, 64], "box": [128, 8], "swizzle": "64B"}"#,
        r#"{"target": "sm_100", "element": "b6x16_p32", "dims": [128, 64], "box": [128, 8], "swizzle": "128B"}"#;
    NAN_FILL = "E1045", "elements that are not floating-point are filled with NaN",
        "Only floating-point types have a NaN to fill with.",
        r#"{"element": "s32", "dims": [64, 64], "box": [32, 8], "fill": "nan"}"#,
        r#"{"element": "s32", "dims": [64, 64], "box": [32, 8], "fill": "zero"}"#;
    INTERLEAVE_SWIZZLE = "E1046", "32-byte interleave goes without the 32-byte swizzle",
        "The driver's header wants it. On sm_90 the driver takes any swizzle, and it is a warning.",
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 64, 8], "strides": [2048, 131072], "box": [32, 1, 1], "interleave": "32B"}"#,
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 64, 8], "strides": [2048, 131072], "box": [32, 1, 1], "interleave": "32B", "swizzle": "32B"}"#;
    WIDE_INTERLEAVE = "E1047", "im2col::w is interleaved",
        "PTX ISA section 5.5.6. On sm_90, where such a map can be made but not used, it is a warning.",
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 64], "strides": [1024, 9216], "lower": [0], "upper": [0], "channels": 16, "pixels": 16, "wide": "w", "swizzle": "64B", "interleave": "16B"}"#,
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 16, "wide": "w", "swizzle": "64B"}"#;
    WIDE_SWIZZLE = "E1048", "im2col::w cannot have the swizzle",
        "The driver's header allows the swizzles 64B, 128B and 128B_ATOM_32B. On sm_90, where such a map can be made but not used, it is a warning.",
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w"}"#,
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w", "swizzle": "64B"}"#;
    SPAN_96 = "E1049", "the 96-byte swizzle cannot go with the rest of the map",
        "PTX ISA section 9.7.9.27.1.1: not with interleave, not with packed elements that are padded, not with im2col::w::128.",
        r#"{"target": "sm_103", "element": "u8", "dims": [64, 64, 8], "strides": [1024, 65536], "box": [16, 16, 1], "interleave": "16B", "swizzle": "96B"}"#,
        r#"{"target": "sm_103", "element": "u8", "dims": [96, 64], "box": [96, 16], "swizzle": "96B"}"#;
    OBJECT = "E1050", "a field of the object stands for nothing",
        "A field of the 128 bytes has a value that nothing is known to write: the bytes are no tensor map, or one from a later time.",
        r#"{"object": "00000000127f000010070000040000000000000000000000000000000000000000000000000000000000000000000000000000000000001f000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}"#,
        r#"{"object": "00000000000000001003000008000000000000000000000000000000000000003f0000003f0000000000000000000000000000000000003f070000000000000000040000000000001000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}"#;
    LOOSE_INTERLEAVE_SWIZZLE = "W1001", "32-byte interleave goes without the 32-byte swizzle",
        "The driver's header wants it; the driver on sm_90 takes any swizzle, and copies do as told. Other targets may refuse.",
        r#"{"element": "u8", "dims": [64, 64, 8], "strides": [2048, 131072], "box": [32, 1, 1], "interleave": "32B"}"#,
        r#"{"element": "u8", "dims": [64, 64, 8], "strides": [2048, 131072], "box": [32, 1, 1], "interleave": "32B", "swizzle": "32B"}"#;
    FIRST_STEP = "W1002", "dimension 0 has a traversal stride, which copies ignore",
        "Without interleave, copies ignore the traversal stride of dimension 0 and move whole rows. The manual wants 1 there.",
        r#"{"element": "f16", "dims": [64, 9, 14, 64], "lower": [0, 0], "upper": [0, 0], "channels": 64, "pixels": 64, "element_strides": [2, 1, 1, 1]}"#,
        r#"{"element": "f16", "dims": [64, 9, 14, 64], "lower": [0, 0], "upper": [0, 0], "channels": 64, "pixels": 64}"#;
    WIDE_UNUSABLE = "W1003", "the target does not have im2col::w",
        "The driver on sm_90 makes such maps, but im2col::w exists on sm_100 and later only. The object is that of an im2col map whose corners in H and D are 0, and can be used so.",
        r#"{"element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w", "swizzle": "64B"}"#,
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w", "swizzle": "64B"}"#;
    WIDE_LOOSE = "W1004", "im2col::w is interleaved or has a swizzle that later targets refuse",
        "The driver on sm_90 makes such maps. That target has no im2col::w, and targets that have it want more: the swizzle must be 64B, 128B or 128B_ATOM_32B, and nothing interleaved.",
        r#"{"element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w"}"#,
        r#"{"target": "sm_100", "element": "u8", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64, "pixels": 128, "wide": "w", "swizzle": "64B"}"#;
    SPAN_UNFILLED = "W1005", "a row of the box fills at most half of the swizzle's span",
        "With a swizzle, each row (or pixel) takes a whole span in shared memory, whatever its length; the rest is left as it was. A row of at most half a span wastes that memory, and usually the swizzle was meant for another shape.",
        r#"{"element": "f16", "dims": [64, 64], "box": [16, 8], "swizzle": "128B"}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B"}"#;
    BOX_BEYOND = "W1006", "the box is larger than the tensor",
        "A copy always reaches outside the tensor in a dimension where the box is larger. Loads fill what is outside and count it on the mbarrier; stores skip it.",
        r#"{"element": "f16", "dims": [64, 4], "box": [64, 8]}"#,
        r#"{"element": "f16", "dims": [64, 8], "box": [64, 8]}"#;
    BYTES = "W1007", "the object counts other bytes than a copy completes",
        "The driver counts floor(box / traversal stride) elements in a dimension and all dimensions alike; copies move ceil(box / traversal stride), whole rows without interleave, and whole slices with it. A barrier that expects the former waits forever.",
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 5], "element_strides": [1, 2]}"#,
        r#"{"element": "f16", "dims": [64, 64], "box": [64, 6], "element_strides": [1, 2]}"#;
    ZERO_STRIDE = "W1008", "a stride is zero",
        "A stride of zero repeats the same bytes along the dimension. Loads may want that (broadcast); stores to such a tensor write the same place many times in no order.",
        r#"{"element": "f16", "dims": [64, 64], "strides": [0], "box": [64, 8]}"#,
        r#"{"element": "f16", "dims": [64, 64], "strides": [128], "box": [64, 8]}"#;
    OVERLAP = "W1009", "elements overlap",
        "Two elements of the tensor share bytes, since a stride is smaller than what it steps over. Loads may want that (sliding windows); stores to such a tensor write the same place many times in no order.",
        r#"{"element": "f16", "dims": [64, 64], "strides": [64], "box": [64, 8]}"#,
        r#"{"element": "f16", "dims": [64, 64], "strides": [128], "box": [64, 8]}"#;
    ROW_END = "W1010", "rows of the tensor do not end on 16 bytes",
        "Stores and reductions write whole units of 16 bytes: the unit with a row's last element is written completely, so that up to 15 bytes behind the row change. Loads are not concerned.",
        r#"{"element": "f16", "dims": [60, 64], "strides": [128], "box": [8, 8]}"#,
        r#"{"element": "f16", "dims": [64, 64], "strides": [128], "box": [8, 8]}"#;
    ONE_WAY = "W1011", "only loads or only stores can use the map",
        "Some maps serve one direction only: on sm_120, loads take neither packed elements nor atoms other than 16 bytes; b6x16_p32 with 128B_ATOM_64B, and what sm_103 allows beyond the common rules, are for stores; b4x16_p64 is for loads everywhere.",
        r#"{"target": "sm_120", "element": "b4x16", "dims": [64, 64], "box": [64, 8]}"#,
        r#"{"target": "sm_100", "element": "b4x16", "dims": [64, 64], "box": [64, 8]}"#;
    SLICES = "W1012", "an interleaved box is more than one slice deep",
        "In an interleaved tensor, dimension rank - 2 chooses the slice of channels. A copy moves exactly one: the box and the traversal stride there are ignored.",
        r#"{"element": "u8", "dims": [64, 64, 8], "strides": [1024, 65536], "box": [16, 16, 1], "interleave": "16B"}"#,
        r#"{"element": "u8", "dims": [64, 64, 8], "strides": [1024, 65536], "box": [16, 1, 1], "interleave": "16B"}"#;
    ADDRESS_END = "W1013", "the tensor ends past 2^57",
        "The last elements lie behind the end of virtual memory. Strides are in bytes, and each is that of its own dimension.",
        r#"{"element": "u8", "dims": [16, 4294967296, 4294967296], "strides": [16, 68719476736], "box": [16, 1, 1]}"#,
        r#"{"element": "u8", "dims": [16, 4, 4], "strides": [16, 64], "box": [16, 1, 1]}"#;
}

/// What a code means, in any case.
pub fn explain(code: &str) -> Option<&'static Explained> {
    ALL.iter().find(|one| one.code.0.eq_ignore_ascii_case(code))
}

/// What is wrong by a rule, with what would be right.
pub(crate) fn diagnostic(rule: &Explained, message: String, help: Option<String>) -> Diagnostic {
    Diagnostic { help, ..Diagnostic::without_place(rule.code, message) }
}

/// For an option that is none of its list: `unlisted("swizzle", "9", ["none", "32B", …])`.
pub fn unlisted<'a>(option: &str, given: &str, choices: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let choices: Vec<&str> = choices.into_iter().collect();
    let message = format!("there is no {option} `{given}`");
    diagnostic(&UNLISTED, message, Some(format!("one of {}", choices.join(", "))))
}
