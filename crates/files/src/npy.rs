//! NumPy's `.npy` files: the header, strictly read, and the data, in pieces.
//!
//! Follows NEP 1 (format versions 1 to 3). Nothing in a file is believed before it is checked: the header's
//! length against a limit, the shape's product against overflow, and the size of the data against the length
//! of the file, all before anything is allocated. Structured and object dtypes are refused.

use std::fmt;
use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header that is read. NumPy's own default limit is 10,000 bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// Most dimensions of an array, as in NumPy.
const MOST_DIMENSIONS: usize = 64;

/// What the data of an array is aligned to in a file.
const ALIGNMENT: usize = 64;

/// The order of the bytes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant first (`<`).
    Little,
    /// Most significant first (`>`).
    Big,
    /// Single bytes, or bytes without an order (`|`).
    None,
}

/// The type of an array's elements, as NumPy spells it: `<f4`, `|u1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType {
    /// The order of its bytes.
    pub order: Order,
    /// NumPy's letter: `f`, `i`, `u`, `V` and so on.
    pub kind: char,
    /// The number after the letter: bytes, or characters of four bytes for `U`.
    pub size: u32,
}

impl DType {
    /// A little-endian type of this kind and size.
    pub const fn new(kind: char, size: u32) -> DType {
        let order = if size == 1 && kind != 'U' { Order::None } else { Order::Little };
        DType { order, kind, size }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        if self.kind == 'U' { self.size as u64 * 4 } else { self.size as u64 }
    }

    /// Reads NumPy's spelling of a type that is not structured.
    pub fn parse(text: &str) -> Option<DType> {
        let mut chars = text.chars();
        let order = match chars.next()? {
            '<' => Order::Little,
            '>' => Order::Big,
            '|' => Order::None,
            _ => return None,
        };
        let kind = chars.next().filter(|kind| "biufcSUV".contains(*kind))?;
        let digits = chars.as_str();
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let size = if plain { digits.parse().ok()? } else { return None };
        Some(DType { order, kind, size })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Order::Little => '<',
            Order::Big => '>',
            Order::None => '|',
        };
        write!(f, "{order}{}{}", self.kind, self.size)
    }
}

/// What stands before the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub dtype: DType,
    /// Whether the first index varies fastest.
    pub fortran_order: bool,
    /// How many elements there are along each axis; the last varies fastest unless `fortran_order`.
    pub shape: Vec<usize>,
}

/// Why bytes are no `.npy` file.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// They do not begin as one.
    #[error("not a .npy file: it does not begin with \\x93NUMPY")]
    Magic,
    /// A version of the format that does not exist.
    #[error(".npy format version {0}.{1} is not known; 1.0, 2.0 and 3.0 are")]
    Version(u8, u8),
    /// The file ends inside the header.
    #[error("the file ends inside the .npy header")]
    ShortHeader,
    /// The header claims a length that no header has.
    #[error("the .npy header claims {0} bytes; at most {LONGEST_HEADER} are read")]
    LongHeader(usize),
    /// The header does not say what it must, in the way it must.
    #[error("bad .npy header: {0}")]
    Header(String),
    /// The shape needs more bytes than there can be.
    #[error("bad .npy header: the shape is larger than any file")]
    TooLarge,
    /// The data is shorter than the shape says.
    #[error("the data is truncated: the shape needs {expected} bytes and {found} are there")]
    Truncated {
        /// Bytes that the shape asks for.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// This many bytes follow the data.
    #[error("{0} bytes follow the data")]
    Trailing(u64),
    /// Reading failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for NpyError {
    fn from(error: io::Error) -> NpyError {
        NpyError::Io(error)
    }
}

impl Header {
    /// The header of a C-ordered array.
    pub fn new(dtype: DType, shape: Vec<usize>) -> Header {
        Header { dtype, fortran_order: false, shape }
    }

    /// How many elements there are; `None` if too many to count.
    pub fn elements(&self) -> Option<u64> {
        elements(&self.shape)
    }

    /// Whether the last index varies fastest, which in arrays of one axis it does in either order.
    pub fn is_c_ordered(&self) -> bool {
        !self.fortran_order || self.shape.len() < 2
    }

    /// Bytes of the data; `None` if too many to count.
    pub fn data_bytes(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.dtype.bytes())
    }

    /// The header as it stands in a file: format version 1.0, or 2.0 if it is very long.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = match self.shape.as_slice() {
            [one] => format!("({one},)"),
            all => {
                let all: Vec<String> = all.iter().map(usize::to_string).collect();
                format!("({})", all.join(", "))
            }
        };
        let order = if self.fortran_order { "True" } else { "False" };
        let mut text = format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': {shape}, }}", self.dtype);
        let long = text.len() + 2 * ALIGNMENT > usize::from(u16::MAX);
        let before = MAGIC.len() + 2 + if long { 4 } else { 2 };
        let end = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
        text.extend(std::iter::repeat_n(' ', end - before - text.len() - 1));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        if long {
            bytes.extend([2, 0]);
            bytes.extend((text.len() as u32).to_le_bytes());
        } else {
            bytes.extend([1, 0]);
            bytes.extend((text.len() as u16).to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    /// Reads a header; also returns how many bytes it took.
    fn read(from: &mut impl Read) -> Result<(Header, u64), NpyError> {
        let mut start = [0; 8];
        fill(from, &mut start).map_err(|error| match error {
            NpyError::ShortHeader => NpyError::Magic,
            other => other,
        })?;
        let [magic @ .., major, minor] = start;
        if &magic != MAGIC {
            return Err(NpyError::Magic);
        }
        let (length, counted) = match (major, minor) {
            (1, 0) => {
                let mut length = [0; 2];
                fill(from, &mut length)?;
                (usize::from(u16::from_le_bytes(length)), 2)
            }
            (2 | 3, 0) => {
                let mut length = [0; 4];
                fill(from, &mut length)?;
                (u32::from_le_bytes(length) as usize, 4)
            }
            _ => return Err(NpyError::Version(major, minor)),
        };
        if length > LONGEST_HEADER {
            return Err(NpyError::LongHeader(length));
        }
        let mut text = vec![0; length];
        fill(from, &mut text)?;
        let text = String::from_utf8(text).map_err(|_| NpyError::Header("it is not text".into()))?;
        let header = Dictionary { rest: &text }.read().map_err(NpyError::Header)?;
        Ok((header, (start.len() + counted + length) as u64))
    }
}

/// The product of a shape; `None` if it overflows.
pub fn elements(shape: &[usize]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |product, &axis| product.checked_mul(u64::try_from(axis).ok()?))
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<(), NpyError> {
    from.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => NpyError::ShortHeader,
        _ => NpyError::Io(error),
    })
}

/// An array whose header is read and whose data is still to come.
#[derive(Debug)]
pub struct Reader<R> {
    /// The header. Its data is as long as it says: that was checked.
    pub header: Header,
    from: R,
    left: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header, and checks that the rest of the `length` bytes is the data it describes.
    pub fn new(mut from: R, length: u64) -> Result<Reader<R>, NpyError> {
        let (header, taken) = Header::read(&mut from)?;
        let expected = header.data_bytes().ok_or(NpyError::TooLarge)?;
        let found = length.saturating_sub(taken);
        if found < expected {
            return Err(NpyError::Truncated { expected, found });
        }
        if found > expected {
            return Err(NpyError::Trailing(found - expected));
        }
        Ok(Reader { header, from, left: expected })
    }

    /// An array whose header is known, and whose data is what comes from here.
    pub fn with_header(header: Header, from: R) -> Reader<R> {
        let left = header.data_bytes().unwrap_or(u64::MAX);
        Reader { header, from, left }
    }

    /// Bytes of data not yet read.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Reads the next `bytes` bytes of data, or what is left if that is less, into `buffer`, which it
    /// replaces.
    pub fn next(&mut self, bytes: u64, buffer: &mut Vec<u8>) -> Result<(), NpyError> {
        buffer.clear();
        let wanted = bytes.min(self.left);
        let found = self.from.by_ref().take(wanted).read_to_end(buffer)? as u64;
        if found < wanted {
            // The file became shorter while it was read.
            return Err(NpyError::Truncated { expected: wanted, found });
        }
        self.left -= wanted;
        Ok(())
    }

    /// Reads all the data that is left.
    pub fn rest(mut self) -> Result<Array, NpyError> {
        let mut data = Vec::new();
        self.next(u64::MAX, &mut data)?;
        Ok(Array { header: self.header, data })
    }
}

/// A whole array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its header.
    pub header: Header,
    /// Its data, as it lies in the file.
    pub data: Vec<u8>,
}

impl Array {
    /// A C-ordered array.
    pub fn new(dtype: DType, shape: Vec<usize>, data: Vec<u8>) -> Array {
        Array { header: Header::new(dtype, shape), data }
    }

    /// Reads a whole file from memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Array, NpyError> {
        Reader::new(bytes, bytes.len() as u64)?.rest()
    }

    /// The same array in C order.
    pub fn into_c_order(mut self) -> Array {
        if !self.header.is_c_ordered() {
            self.data = transposed(&self.data, self.header.dtype.bytes() as usize, &self.header.shape);
        }
        self.header.fortran_order = false;
        self
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.to_bytes();
        bytes.extend(&self.data);
        bytes
    }
}

/// Elements of `item` bytes in Fortran order, put into C order.
fn transposed(data: &[u8], item: usize, shape: &[usize]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0; shape.len()];
    let strides: Vec<usize> = shape
        .iter()
        .scan(item, |stride, &axis| {
            let this = *stride;
            *stride = stride.saturating_mul(axis);
            Some(this)
        })
        .collect();
    let mut at = 0;
    while out.len() < data.len() {
        out.extend_from_slice(&data[at..at + item]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    out
}

/// The reader of the header's text: a Python dictionary of three known entries.
struct Dictionary<'a> {
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    fn read(mut self) -> Result<Header, String> {
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            let twice = match key {
                "descr" => dtype.replace(self.dtype()?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(format!("`{}` is not one of its keys", shown(key))),
            };
            if twice {
                return Err(format!("`{key}` stands twice"));
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim_ascii().is_empty() {
            return Err("something follows the dictionary".into());
        }
        let missing = |key: &str| format!("`{key}` is missing");
        Ok(Header {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) {
            Ok(())
        } else {
            Err(format!("`{wanted}` expected at `{}`", shown(self.rest)))
        }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept('\'') { '\'' } else { '"' };
        if quote == '"' {
            self.expect('"')?;
        }
        let (string, rest) = self.rest.split_once(quote).ok_or("a string does not end")?;
        self.rest = rest;
        Ok(string)
    }

    fn dtype(&mut self) -> Result<DType, String> {
        if self.accept('[') {
            return Err("arrays of structures are not read".into());
        }
        let text = self.string()?;
        DType::parse(text).ok_or_else(|| format!("dtype `{}` is not read", shown(text)))
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_ascii_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(format!("True or False expected at `{}`", shown(self.rest)))
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            if shape.len() == MOST_DIMENSIONS {
                return Err(format!("more than {MOST_DIMENSIONS} dimensions"));
            }
            shape.push(self.number()?);
            if !self.accept(',') {
                // Python reads `(3)` as a number.
                if shape.len() == 1 {
                    self.expect(',')?;
                }
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<usize, String> {
        self.rest = self.rest.trim_ascii_start();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Err(format!("a number expected at `{}`", shown(rest)));
        }
        // Python 2 wrote long integers with an L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        digits.parse().map_err(|_| format!("`{}` is too large for a dimension", shown(digits)))
    }
}

/// Text from a file as it may be shown: on one line, and not at any length.
fn shown(text: &str) -> String {
    text.chars().take(24).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_put_into_c_order() {
        // numpy.asfortranarray(numpy.arange(24, dtype='<u2').reshape(2, 3, 4))
        let shape = [2usize, 3, 4];
        let mut data = Vec::new();
        for (k, j, i) in (0..4).flat_map(|k| (0..3).flat_map(move |j| (0..2).map(move |i| (k, j, i)))) {
            data.extend(((i * 12 + j * 4 + k) as u16).to_le_bytes());
        }
        let mut array = Array::new(DType::new('u', 2), shape.to_vec(), data);
        array.header.fortran_order = true;
        let array = array.into_c_order();
        let wanted: Vec<u8> = (0..24u16).flat_map(u16::to_le_bytes).collect();
        assert!(array.data == wanted && !array.header.fortran_order);
        for shape in [vec![], vec![3], vec![2, 0], vec![1, 1, 1]] {
            let bytes = elements(&shape).unwrap() as usize;
            let mut array = Array::new(DType::new('u', 1), shape, vec![7; bytes]);
            array.header.fortran_order = true;
            assert_eq!(array.into_c_order().data, vec![7; bytes]);
        }
    }
    use proptest::prelude::*;

    /// A file with this header text.
    fn file(text: &str, data: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(std::iter::repeat_n(0, data));
        bytes
    }

    fn message(bytes: &[u8]) -> String {
        Array::from_bytes(bytes).map(|array| format!("{array:?}")).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn reads_what_numpy_writes() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n";
        let array = Array::from_bytes(&file(text, 24)).unwrap();
        assert_eq!(array.header, Header::new(DType::new('f', 4), vec![2, 3]));
        let scalar = "{\"shape\": (), 'fortran_order':True, 'descr':'<U5'}";
        let header = Array::from_bytes(&file(scalar, 20)).unwrap().header;
        assert_eq!((header.shape.len(), header.dtype.bytes(), header.fortran_order), (0, 20, true));
    }

    #[test]
    fn says_what_is_wrong() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "not a .npy file"),
            (b"PK\x03\x04 and more", "not a .npy file"),
            (b"\x93NUMPY\x04\x00..", "version 4.0"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "claims 4294967295 bytes"),
        ];
        for (bytes, wanted) in cases {
            assert!(message(bytes).contains(wanted), "{}", message(bytes));
        }
        let cases = [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7, "needs 8 bytes and 7 are there"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9, "1 bytes follow"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 8, "`,` expected"),
            ("{'descr': '<f4', 'fortran_order': False}", 8, "`shape` is missing"),
            ("{'descr': '<f4', 'descr': '<f4'}", 8, "stands twice"),
            ("{'colour': '<f4'}", 8, "`colour`"),
            ("{'descr': [('x', '<f4')]}", 8, "structures"),
            ("{'descr': '|O'}", 8, "dtype `|O`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8, "follows the dictionary"),
            ("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", 8, "True or False"),
            ("{'shape': (99999999999999999999,)", 8, "too large"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296,4294967296)}", 8, "any file"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}",
                8,
                "needs 9223372036854775808",
            ),
        ];
        for (text, data, wanted) in cases {
            assert!(message(&file(text, data)).contains(wanted), "{}", message(&file(text, data)));
        }
    }

    fn dtypes() -> impl Strategy<Value = DType> {
        prop::sample::select(vec![('f', 4), ('f', 8), ('f', 2), ('u', 1), ('i', 8), ('V', 2), ('U', 3)])
            .prop_map(|(kind, size)| DType::new(kind, size))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(dtype in dtypes(), shape in prop::collection::vec(0usize..5, 0..5)) {
            let bytes = Header::new(dtype, shape.clone()).data_bytes().unwrap();
            let array = Array::new(dtype, shape, (0..bytes).map(|i| i as u8).collect());
            let file = array.to_bytes();
            prop_assert_eq!((file.len() - array.data.len()) % ALIGNMENT, 0);
            prop_assert_eq!(Array::from_bytes(&file).unwrap(), array);
        }

        #[test]
        fn arbitrary_bytes_are_an_error_or_an_array(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Array::from_bytes(&bytes);
        }

        #[test]
        fn arbitrary_headers_are_an_error_or_an_array(text in "[{}'(),:<f4 desctfranhopTLu0-9\\[]{0,80}") {
            let _ = Array::from_bytes(&file(&text, 8));
        }

        #[test]
        fn damaged_files_are_an_error_or_an_array(at in 0usize..200, to in any::<u8>(), cut in 0usize..200) {
            let array = Array::new(DType::new('f', 4), vec![3, 4], vec![7; 48]);
            let mut file = array.to_bytes();
            let at = at % file.len();
            file[at] = to;
            file.truncate(file.len().saturating_sub(cut));
            let _ = Array::from_bytes(&file);
        }
    }
}
